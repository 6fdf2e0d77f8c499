#include "src/predict/normaliser.h"

#include <algorithm>
#include <cmath>

namespace edgesage {

Normaliser Normaliser::fit(std::span<const float> values, size_t columns) {
  constexpr double kConstant = 1e-6;  // below this a column never varied
  const size_t rows = columns > 0 ? values.size() / columns : 0;
  std::vector<double> sum(columns, 0.0), squares(columns, 0.0);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) {
      const double value = values[r * columns + c];
      sum[c] += value;
      squares[c] += value * value;
    }
  }
  Normaliser normaliser;
  for (size_t c = 0; c < columns; ++c) {
    const double count = std::max<double>(1, static_cast<double>(rows));
    const double mean = sum[c] / count;
    const double deviation = std::sqrt(std::max(0.0, squares[c] / count - mean * mean));
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
