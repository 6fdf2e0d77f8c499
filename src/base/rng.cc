#include "src/base/rng.h"

#include <numbers>

#include "src/base/hash.h"

namespace edgesage {
namespace {

uint64_t split_mix(uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

uint64_t stream_seed(uint64_t seed, std::string_view stream) {
  Hasher hasher;
  hasher.add(seed);
  hasher.add(stream);
  return hasher.low64();
}

}  // namespace

Rng::Rng(uint64_t seed) {
  for (uint64_t& word : state_) word = split_mix(seed);
}

Rng::Rng(uint64_t seed, std::string_view stream) : Rng(stream_seed(seed, stream)) {}

int64_t Rng::integer(int64_t low, int64_t high) {
  const uint64_t range = static_cast<uint64_t>(high - low) + 1;
  if (range == 0) return static_cast<int64_t>(next());
  // Rejection keeps every value equally likely.
  const uint64_t limit = UINT64_MAX - UINT64_MAX % range;
  uint64_t draw = next();
  while (draw >= limit) draw = next();
  return low + static_cast<int64_t>(draw % range);
}

double Rng::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  const double angle = 2.0 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

}  // namespace edgesage
