// Non-negative least squares on relative errors: minimises sum_i ((x_i . w - y_i) / y_i)^2 over
// w >= 0, by coordinate descent on the normal equations. The fit behind the linear and additive
// controls.
#pragma once

#include <span>
#include <vector>

namespace edgesage {

// `x` is rows x columns, row-major; y must be positive.
[[nodiscard]] std::vector<double> fit_relative_nnls(std::span<const double> x, size_t columns,
                                                    std::span<const double> y);

}  // namespace edgesage
