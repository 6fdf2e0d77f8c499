#include "src/base/portable_math.h"

#include <array>
#include <cmath>
#include <cstddef>
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

}  // namespace edgesage
