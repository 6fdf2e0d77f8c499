#include "src/predict/normaliser.h"

#include <algorithm>
#include <cmath>

namespace edgesage {

Normaliser Normaliser::fit(std::span<const float> values, size_t columns) {
  NormaliserFit fit(columns);
  fit.add(values);
  return fit.finish();
}

void NormaliserFit::add(std::span<const float> rows) {
  const size_t columns = sum_.size();
  for (size_t first = 0; columns > 0 && first + columns <= rows.size(); first += columns) {
    for (size_t c = 0; c < columns; ++c) {
      const double value = rows[first + c];
      sum_[c] += value;
      squares_[c] += value * value;
    }
    ++rows_;
  }
}

Normaliser NormaliserFit::finish() const {
  constexpr double kConstant = 1e-6;  // below this a column never varied
  const double count = std::max<double>(1, static_cast<double>(rows_));
  Normaliser normaliser;
  for (size_t c = 0; c < sum_.size(); ++c) {
    const double mean = sum_[c] / count;
    const double deviation = std::sqrt(std::max(0.0, squares_[c] / count - mean * mean));
    normaliser.mean.push_back(static_cast<float>(mean));
    normaliser.scale.push_back(deviation > kConstant ? static_cast<float>(1.0 / deviation) : 0.0F);
  }
  return normaliser;
}

void Normaliser::apply(std::span<const float> values, std::span<float> out) const {
  const size_t columns = mean.size();
  for (size_t first = 0; columns > 0 && first < values.size(); first += columns) {
    const size_t width = std::min(columns, values.size() - first);
    for (size_t c = 0; c < width; ++c)
      out[first + c] = std::clamp((values[first + c] - mean[c]) * scale[c], -kLimit, kLimit);
  }
}

}  // namespace edgesage
