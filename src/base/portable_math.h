// Logarithm, exponential and random variates from additions, multiplications, divisions and square
// roots alone. IEEE 754 rounds those the same everywhere, and the C library's functions it does
// not: networks built from a seed must be the same on every platform.
#pragma once

#include <span>

#include "src/base/rng.h"

// Before a function with a loop over numbers: compiled for wider registers too where the compiler
// can choose between them at run time. IEEE 754 rounds the same in all of them: no multiplication
// is fused with an addition (-ffp-contract=off).
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define EDGESAGE_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define EDGESAGE_WIDE
#endif

namespace edgesage {

// Natural logarithm of a positive finite number; relative error below 1e-12.
[[nodiscard]] double portable_log(double x);
// e to the power of x, for |x| below 700; relative error below 1e-12.
[[nodiscard]] double portable_exp(double x);

[[nodiscard]] double portable_log_uniform(Rng& rng, double low, double high);
// Student's t with `freedom` degrees of freedom: the fewer, the heavier the tails. By the polar
// method of Bailey (1994).
[[nodiscard]] double portable_student_t(Rng& rng, double freedom);
[[nodiscard]] double portable_normal(Rng& rng);
[[nodiscard]] double portable_laplace(Rng& rng);

// As many calls of the above one after the other, bit for bit, in loops that compilers vectorise.
void portable_student_t(Rng& rng, double freedom, std::span<double> out);
void portable_normal(Rng& rng, std::span<double> out);
void portable_laplace(Rng& rng, std::span<double> out);
// With `share` the normal variate is multiplied by `wide`, else by `narrow`: for each, first
// rng.chance(share), then the variate.
void portable_mixture(Rng& rng, double share, double wide, double narrow, std::span<double> out);

}  // namespace edgesage
