// Logarithm, exponential and random variates from additions, multiplications, divisions and square
// roots alone. IEEE 754 rounds those the same everywhere, and the C library's functions it does
// not: networks built from a seed must be the same on every platform.
#pragma once

#include "src/base/rng.h"

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

}  // namespace edgesage
