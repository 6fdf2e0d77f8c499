// A model's graph as a picture, coloured by what its operators cost; a part of a page.
#pragma once

#include <string>
#include <string_view>

#include "edgesage/predict.h"

namespace edgesage::report {

[[nodiscard]] std::string_view graph_style();

// Operators of the main subgraph from top to bottom, by their longest way from the inputs; the
// darker, the larger the share of the latency. Titles say the rest. Above kDrawnOperators there is
// a sentence in its place. Needs the prediction's inspection. Cost: linear in operators and edges.
[[nodiscard]] std::string graph_section(const Prediction& prediction);

inline constexpr size_t kDrawnOperators = 4000;

}  // namespace edgesage::report
