// Scales features to mean 0 and standard deviation 1 by what was seen in training.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace edgesage {

struct Normaliser {
  std::vector<float> mean;
  std::vector<float> scale;  // 1 / standard deviation; 0 for a column that never varied

  // Columns of a row-major matrix.
  static Normaliser fit(std::span<const float> values, size_t columns);

  // out may be values. Clamped to +-kLimit, so that one odd value cannot drive the network far
  // outside what it knows; the range verdict speaks of such values.
  void apply(std::span<const float> values, std::span<float> out) const;

  static constexpr float kLimit = 8.0F;
};

// Normaliser::fit of rows that come in pieces.
class NormaliserFit {
 public:
  explicit NormaliserFit(size_t columns) : sum_(columns), squares_(columns) {}
  void add(std::span<const float> rows);  // row-major, whole rows
  [[nodiscard]] Normaliser finish() const;

 private:
  std::vector<double> sum_, squares_;
  size_t rows_ = 0;
};

}  // namespace edgesage
