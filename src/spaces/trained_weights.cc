#include "src/spaces/trained_weights.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "src/base/portable_math.h"

namespace edgesage {
namespace {

constexpr Parameter kPruned = chance("pruned", "networks with unstructured zeros", 0.22);
constexpr Parameter kSparsity = uniform("sparsity", "share of zeros of a pruned network", 0.2, 0.9);
constexpr Parameter kClustered = chance("clustered", "networks with few distinct weights", 0.12);
constexpr Parameter kClusters =
    one_of("clusters", "distinct values of a clustered network's filter", {{16}, {32}});
constexpr Parameter kOddLayer =
    chance("odd layer", "filters pruned on their own in a network that is not", 0.04);
constexpr Parameter kTail = log_uniform(
    "tail", "degrees of freedom of Student's t for a network's weights; fewer is heavier", 3, 30);
constexpr Parameter kShape = one_of(
    "shape", "a filter's distribution: 0 Student's t, 1 normal, 2 Laplace, 3 uniform, 4 mixture",
    {{0, 50}, {1, 15}, {2, 15}, {3, 4}, {4, 16}});
constexpr Parameter kSpread =
    uniform("spread", "how far the deviations of a filter's channels differ (ln)", 0.05, 0.6);

constexpr std::array<const Parameter*, 8> kParameters{
    &kPruned, &kSparsity, &kClustered, &kClusters, &kOddLayer, &kTail, &kShape, &kSpread};

// Variates one after the other.
void draw_variates(Rng& rng, int64_t shape, double freedom, std::span<double> out) {
  switch (shape) {
    case 1:
      return portable_normal(rng, out);
    case 2:
      return portable_laplace(rng, out);
    case 3:
      for (double& value : out) value = rng.uniform(-1, 1);
      return;
    case 4:
      return portable_mixture(rng, 0.15, 3, 0.6, out);
    default:
      return portable_student_t(rng, freedom, out);
  }
}

// Calls f(first, count, channel) for all values, in runs of one channel.
template <class F>
void for_each_run(const FilterLayout& layout, size_t count, F f) {
  const auto channels = static_cast<size_t>(layout.channels);
  const auto taps = static_cast<size_t>(layout.taps);
  if (layout.channel_last) {
    for (size_t i = 0; i < count; ++i) f(i, 1, i % channels);
    return;
  }
  for (size_t i = 0, channel = 0; i < count; i += taps, ++channel) f(i, taps, channel);
}

EDGESAGE_WIDE void scale(const double* variates, size_t count, double factor, float* values) {
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(factor * variates[i]);
}

constexpr uint32_t kMagnitude = 0x7fff'ffff;

// Magnitudes are in the order of their bits.
EDGESAGE_WIDE float largest_magnitude(const float* values, size_t count) {
  uint32_t most = 0;
  for (size_t i = 0; i < count; ++i)
    most = std::max(most, std::bit_cast<uint32_t>(values[i]) & kMagnitude);
  return std::bit_cast<float>(most);
}

// To a symmetric grid of `half` steps on either side, of which what is below `least` is left out.
EDGESAGE_WIDE void quantise(const float* values, size_t count, double scale, double half,
                            double least, int8_t* stored) {
  for (size_t i = 0; i < count; ++i) {
    const double step = std::floor(static_cast<double>(values[i]) / scale * half + 0.5);
    const double kept = std::max(step, least);
    stored[i] = static_cast<int8_t>(static_cast<int32_t>(std::floor(kept * 127 / half + 0.5)));
  }
}

// The magnitude that has `rank` others before it, from the first bits on: those with the bits that
// are known are counted by their next ones.
uint32_t magnitude_of_rank(std::span<const float> values, size_t rank) {
  uint32_t known = 0;
  int known_below = 31;  // the lowest bit that is known
  for (const int bits : {11, 11, 9}) {
    const int shift = known_below - bits;
    std::array<uint32_t, 2048> counts{};
    for (const float value : values) {
      const uint32_t magnitude = std::bit_cast<uint32_t>(value) & kMagnitude;
      if (magnitude >> known_below == known >> known_below)
        ++counts[(magnitude >> shift) & ((1U << bits) - 1)];
    }
    uint32_t next = 0;
    for (; rank >= counts[next]; ++next) rank -= counts[next];
    known |= next << shift;
    known_below = shift;
  }
  return known;
}

EDGESAGE_WIDE void zero_up_to(uint32_t threshold, float* values, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if ((std::bit_cast<uint32_t>(values[i]) & kMagnitude) <= threshold) values[i] = 0;
}

// Zeroes the smallest magnitudes.
void prune(std::vector<float>& values, double sparsity) {
  const auto zeros = static_cast<size_t>(sparsity * static_cast<double>(values.size()));
  if (zeros == 0) return;
  zero_up_to(magnitude_of_rank(values, zeros - 1), values.data(), values.size());
}

constexpr size_t kTableSize = 8192;

// Stored value by step of the grid, which is 128 for zero.
std::array<int8_t, 256> grid_of(int64_t clusters) {
  std::array<int8_t, 256> grid{};
  const auto half = static_cast<int>(clusters > 0 ? clusters / 2 : 127);
  for (int i = 0; i < 256; ++i) {
    // A symmetric grid; an even number of values cannot hold zero in its middle, so one end is
    // left out.
    const int step = std::clamp(i - 128, clusters > 0 ? 1 - half : -half, half);
    const int magnitude = (2 * 127 * std::abs(step) + half) / (2 * half);
    grid[static_cast<size_t>(i)] = static_cast<int8_t>(step < 0 ? -magnitude : magnitude);
  }
  return grid;
}

}  // namespace

TrainedWeights::TrainedWeights(uint64_t seed, Drawing drawing)
    : rng_(seed, "trained weights"), drawing_(drawing), seed_(seed) {
  const double sparsity = kSparsity.draw(rng_);
  sparsity_ = kPruned.draw_chance(rng_) ? sparsity : 0;
  const int64_t clusters = kClusters.draw_integer(rng_);
  clusters_ = kClustered.draw_chance(rng_) ? clusters : 0;
  tail_ = kTail.draw(rng_);
}

void TrainedWeights::fill(const FilterLayout& layout, std::span<int8_t> stored) {
  Rng rng(rng_.next(), "filter");
  Filter filter;
  filter.shape = kShape.draw_integer(rng);
  filter.freedom = std::max(2.2, tail_ * rng.uniform(0.7, 1.4));
  filter.spread = kSpread.draw(rng);
  const bool odd = kOddLayer.draw_chance(rng);
  filter.sparsity = odd ? kSparsity.draw(rng) : 0;
  if (sparsity_ > 0) filter.sparsity = std::min(0.95, sparsity_ * rng.uniform(0.8, 1.1));
  if (drawing_ == Drawing::kTabled)
    fill_tabled(layout, filter, rng, stored);
  else
    fill_each(layout, filter, rng, stored);
}

void TrainedWeights::fill_each(const FilterLayout& layout, const Filter& filter, Rng& rng,
                               std::span<int8_t> stored) {
  const auto channels = static_cast<size_t>(layout.channels);
  std::vector<double> deviation(channels);
  for (double& value : deviation) value = portable_exp(filter.spread * portable_normal(rng));
  variates_.resize(stored.size());
  draw_variates(rng, filter.shape, filter.freedom, variates_);
  values_.resize(stored.size());
  for_each_run(layout, stored.size(), [&](size_t first, size_t count, size_t channel) {
    scale(&variates_[first], count, deviation[channel], &values_[first]);
  });
  prune(values_, filter.sparsity);

  const bool per_channel = layout.kind != OpKind::kFullyConnected;
  std::vector<float> largest(per_channel ? channels : 1, 1e-30F);
  for_each_run(layout, stored.size(), [&](size_t first, size_t count, size_t channel) {
    float& most = largest[per_channel ? channel : 0];
    most = std::max(most, largest_magnitude(&values_[first], count));
  });
  // An even number of values cannot hold zero in the middle of a symmetric grid, so one end is left
  // out.
  const double half = clusters_ > 0 ? static_cast<double>(clusters_ / 2) : 127;
  const double least = clusters_ > 0 ? 1 - half : -half;
  for_each_run(layout, stored.size(), [&](size_t first, size_t count, size_t channel) {
    quantise(&values_[first], count, largest[per_channel ? channel : 0], half, least,
             &stored[first]);
  });
}

const std::vector<float>& TrainedWeights::table(int64_t shape) {
  std::vector<float>& made = tables_[static_cast<size_t>(shape)];
  if (!made.empty()) return made;
  Rng rng(seed_ + static_cast<uint64_t>(shape), "weight table");
  std::vector<double> variates(kTableSize);
  draw_variates(rng, shape, std::max(2.2, tail_), variates);
  made.assign(kTableSize, 0);
  std::ranges::transform(variates, made.begin(),
                         [](double value) { return static_cast<float>(value); });
  return made;
}

void TrainedWeights::fill_tabled(const FilterLayout& layout, const Filter& filter, Rng& rng,
                                 std::span<int8_t> stored) {
  std::vector<float> pruned;
  const std::vector<float>* values = &table(filter.shape);
  if (filter.sparsity > 0) {
    pruned = *values;
    prune(pruned, filter.sparsity);
    values = &pruned;
  }
  const std::array<int8_t, 256> grid = grid_of(clusters_);
  const float half = clusters_ > 0 ? static_cast<float>(clusters_ / 2) : 127.0F;
  const auto channels = static_cast<size_t>(layout.channels);
  const auto taps = static_cast<size_t>(layout.taps);
  std::vector<float> drawn(stored.size());
  for (size_t i = 0; i < drawn.size(); i += 4) {
    uint64_t bits = rng.next();
    for (size_t k = i; k < std::min(i + 4, drawn.size()); ++k, bits >>= 16)
      drawn[k] = (*values)[bits % kTableSize];
  }
  // Rows of one scale each: a channel, or of fully connected layers everything. A channel's own
  // deviation only matters where others share its scale.
  const bool per_channel = layout.kind != OpKind::kFullyConnected;
  if (!per_channel)
    for (size_t channel = 0; channel < channels; ++channel) {
      const auto deviation = static_cast<float>(portable_exp(filter.spread * portable_normal(rng)));
      for (size_t tap = 0; tap < taps; ++tap) drawn[channel * taps + tap] *= deviation;
    }
  const size_t rows = per_channel ? channels : 1;
  const size_t length = rows > 0 ? stored.size() / rows : 0;
  const size_t step = layout.channel_last ? channels : 1;
  for (size_t row = 0; row < rows; ++row) {
    const size_t first = layout.channel_last ? row : row * length;
    float largest = 0;
    for (size_t k = 0; k < length; ++k)
      largest = std::max(largest, std::abs(drawn[first + k * step]));
    const float scale = largest > 0 ? half / largest : 0;
    for (size_t k = 0; k < length; ++k) {
      const size_t i = first + k * step;
      const float scaled = drawn[i] * scale;
      stored[i] = grid[static_cast<size_t>(static_cast<int>(scaled + 128.5F))];
    }
  }
}

std::span<const Parameter* const> TrainedWeights::parameters() { return kParameters; }

}  // namespace edgesage
