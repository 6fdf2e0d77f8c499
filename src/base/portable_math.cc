#include "src/base/portable_math.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

namespace edgesage {
namespace {

constexpr double kLn2 = std::numbers::ln2;
// 1/0!, 1/1!, 1/2!, ... and 1, 1/3, 1/5, ...
constexpr std::array<double, 14> kInverseFactorials = [] {
  std::array<double, 14> values{1};
  for (size_t k = 1; k < values.size(); ++k) values[k] = values[k - 1] / static_cast<double>(k);
  return values;
}();
constexpr std::array<double, 9> kInverseOdds = [] {
  std::array<double, 9> values{};
  for (size_t k = 0; k < values.size(); ++k) values[k] = 1.0 / static_cast<double>(2 * k + 1);
  return values;
}();

// A point in the unit disc without its centre; returns the squared radius.
double disc(Rng& rng, double& x) {
  while (true) {
    x = rng.uniform(-1, 1);
    const double y = rng.uniform(-1, 1);
    const double square = x * x + y * y;
    if (square > 0 && square <= 1) return square;
  }
}

// The same results as portable_log and portable_exp, without calls and branches, for normal numbers
// and powers from 2^-1000 to 2^1000. Bits are moved where frexp, floor and ldexp would be called.
constexpr double kIntegers = 0x1p52;  // from here on doubles are integers
constexpr uint64_t kMantissa = (uint64_t{1} << 52) - 1;

inline double inline_log(double x) {
  const auto bits = std::bit_cast<uint64_t>(x);
  double exponent =
      std::bit_cast<double>((bits >> 52) | std::bit_cast<uint64_t>(kIntegers)) - kIntegers - 1022;
  double mantissa = std::bit_cast<double>((bits & kMantissa) | std::bit_cast<uint64_t>(0.5));
  const bool small = mantissa < 0.7071067811865476;
  mantissa = small ? mantissa * 2 : mantissa;
  exponent = small ? exponent - 1 : exponent;
  const double ratio = (mantissa - 1) / (mantissa + 1);
  const double square = ratio * ratio;
  double sum = 0;
  for (size_t k = kInverseOdds.size(); k > 0; --k) sum = sum * square + kInverseOdds[k - 1];
  return 2 * ratio * sum + exponent * kLn2;
}

inline double inline_exp(double x) {
  const double shifted = x / kLn2 + 0.5;
  const double nearest = shifted + 1.5 * kIntegers - 1.5 * kIntegers;
  const double power = nearest > shifted ? nearest - 1 : nearest;
  const double rest = x - power * kLn2;
  double sum = 0;
  for (size_t k = kInverseFactorials.size(); k > 0; --k)
    sum = sum * rest + kInverseFactorials[k - 1];
  const auto biased = std::bit_cast<uint64_t>(power + 1023 + kIntegers);
  return sum * std::bit_cast<double>(biased << 52);
}

constexpr size_t kBlock = 256;
using Block = std::array<double, kBlock>;

EDGESAGE_WIDE void student_t_of(const Block& x, const Block& square, double freedom, Block& out) {
  for (size_t i = 0; i < kBlock; ++i) {
    const double power = inline_exp(-2 / freedom * inline_log(square[i]));
    out[i] = x[i] * std::sqrt(freedom * (power - 1) / square[i]);
  }
}

EDGESAGE_WIDE void normal_of(const Block& x, const Block& square, Block& out) {
  for (size_t i = 0; i < kBlock; ++i)
    out[i] = x[i] * std::sqrt(-2 * inline_log(square[i]) / square[i]);
}

EDGESAGE_WIDE void laplace_of(const Block& draw, Block& out) {
  for (size_t i = 0; i < kBlock; ++i) {
    const double magnitude = -inline_log(1 - std::abs(draw[i]));
    out[i] = draw[i] < 0 ? -magnitude : magnitude;
  }
}

// As many calls of disc. A point outside is overwritten by the next: a branch would often be
// guessed wrong.
void discs(Rng& rng, size_t count, Block& x, Block& square) {
  Rng drawn = rng;  // stays in registers
  for (size_t i = 0; i < count;) {
    x[i] = drawn.uniform(-1, 1);
    const double y = drawn.uniform(-1, 1);
    square[i] = x[i] * x[i] + y * y;
    i += static_cast<size_t>((square[i] > 0) & (square[i] <= 1));
  }
  rng = drawn;
}

// Calls draw(count) for each block, then transforms the block; the last one is transformed beyond
// its end, which keeps the loops simple.
template <class Draw, class Transform>
void by_blocks(std::span<double> out, Draw draw, Transform transform) {
  Block made{};
  for (size_t begin = 0; begin < out.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, out.size() - begin);
    draw(count);
    transform(made);
    std::copy_n(made.begin(), count, out.begin() + static_cast<std::ptrdiff_t>(begin));
  }
}

// Values of a block that were not drawn yet are transformed as well: any number will do.
Block filled(double value) {
  Block block;
  block.fill(value);
  return block;
}

}  // namespace

double portable_log(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // exact
  if (mantissa < 0.7071067811865476) {
    mantissa *= 2;
    --exponent;
  }
  // log m = 2 artanh((m - 1) / (m + 1)), as a series.
  const double ratio = (mantissa - 1) / (mantissa + 1);
  const double square = ratio * ratio;
  double sum = 0;
  for (size_t k = kInverseOdds.size(); k > 0; --k) sum = sum * square + kInverseOdds[k - 1];
  return 2 * ratio * sum + exponent * kLn2;
}

double portable_exp(double x) {
  const double power = std::floor(x / kLn2 + 0.5);
  const double rest = x - power * kLn2;
  double sum = 0;
  for (size_t k = kInverseFactorials.size(); k > 0; --k)
    sum = sum * rest + kInverseFactorials[k - 1];
  return std::ldexp(sum, static_cast<int>(power));  // exact
}

double portable_log_uniform(Rng& rng, double low, double high) {
  return low * portable_exp(rng.uniform() * portable_log(high / low));
}

double portable_student_t(Rng& rng, double freedom) {
  double x = 0;
  const double square = disc(rng, x);
  const double power = portable_exp(-2 / freedom * portable_log(square));
  return x * std::sqrt(freedom * (power - 1) / square);
}

double portable_normal(Rng& rng) {
  double x = 0;
  const double square = disc(rng, x);
  return x * std::sqrt(-2 * portable_log(square) / square);
}

double portable_laplace(Rng& rng) {
  const double draw = rng.uniform(-1, 1);
  const double magnitude = -portable_log(1 - std::abs(draw));
  return draw < 0 ? -magnitude : magnitude;
}

void portable_student_t(Rng& rng, double freedom, std::span<double> out) {
  Block x = filled(0), square = filled(0.5);
  by_blocks(
      out, [&](size_t count) { discs(rng, count, x, square); },
      [&](Block& made) { student_t_of(x, square, freedom, made); });
}

void portable_normal(Rng& rng, std::span<double> out) {
  Block x = filled(0), square = filled(0.5);
  by_blocks(
      out, [&](size_t count) { discs(rng, count, x, square); },
      [&](Block& made) { normal_of(x, square, made); });
}

void portable_laplace(Rng& rng, std::span<double> out) {
  Block draw = filled(0);
  by_blocks(
      out,
      [&](size_t count) {
        for (size_t i = 0; i < count; ++i) draw[i] = rng.uniform(-1, 1);
      },
      [&](Block& made) { laplace_of(draw, made); });
}

void portable_mixture(Rng& rng, double share, double wide, double narrow, std::span<double> out) {
  Block x = filled(0), square = filled(0.5), factor = filled(1);
  by_blocks(
      out,
      [&](size_t count) {
        for (size_t i = 0; i < count; ++i) {
          factor[i] = rng.chance(share) ? wide : narrow;
          square[i] = disc(rng, x[i]);
        }
      },
      [&](Block& made) {
        normal_of(x, square, made);
        for (size_t i = 0; i < kBlock; ++i) made[i] = factor[i] * made[i];
      });
}

}  // namespace edgesage
