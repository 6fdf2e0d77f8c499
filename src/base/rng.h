// Seeded random numbers that are the same on every platform (the standard's distributions are not).
// xoshiro256** seeded by SplitMix64 (Blackman and Vigna, 2018).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace edgesage {

class Rng {
 public:
  explicit Rng(uint64_t seed);
  // An independent stream for a purpose: the same seed and name give the same stream.
  Rng(uint64_t seed, std::string_view stream);

  uint64_t next() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }          // [0, 1)
  double uniform(double low, double high) { return low + (high - low) * uniform(); }  // [low, high)
  int64_t integer(int64_t low, int64_t high);  // both ends included
  bool chance(double probability) { return uniform() < probability; }
  double normal();  // mean 0, standard deviation 1
  double log_uniform(double low, double high) {
    return low * std::exp(uniform() * std::log(high / low));
  }
  template <class T>
  const T& pick(std::span<const T> values) {
    return values[static_cast<size_t>(integer(0, static_cast<int64_t>(values.size()) - 1))];
  }
  template <class T>
  const T& pick(const std::vector<T>& values) {
    return pick(std::span<const T>(values));
  }
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (size_t i = values.size(); i > 1; --i)
      std::swap(values[i - 1],
                values[static_cast<size_t>(integer(0, static_cast<int64_t>(i) - 1))]);
  }

 private:
  uint64_t state_[4];
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace edgesage
