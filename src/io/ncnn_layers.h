// How each type of ncnn layer becomes operators; behind ncnn_reader.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/io/ncnn_emitter.h"
#include "src/io/ncnn_param.h"

namespace edgesage {

// One layer with the tensors that it reads.
struct NcnnCall {
  const NcnnLayer& layer;
  const std::vector<int32_t>& in;
  NcnnEmitter& net;
  std::string_view where;

  [[nodiscard]] const Shape& shape(size_t input = 0) const { return net.shape(in[input]); }
  // An integer parameter within limits.
  [[nodiscard]] Result<int64_t> bounded(int id, int64_t otherwise, int64_t least, int64_t most,
                                        std::string_view meaning) const;
  [[nodiscard]] Result<int64_t> axis(int64_t value) const;  // to a dimension of input 0
  [[nodiscard]] tl::unexpected<Error> bad(std::string message) const;
};

using NcnnOutputs = Result<std::vector<int32_t>>;

struct NcnnRule {
  NcnnOutputs (*apply)(const NcnnCall& call) = nullptr;
  size_t least_inputs = 1;
};

// nullopt for types that are not known.
[[nodiscard]] std::optional<NcnnRule> ncnn_rule(std::string_view type);
// Of them: convolutions, pooling, fully connected layers.
[[nodiscard]] std::optional<NcnnRule> ncnn_window_rule(std::string_view type);
// Those that move or select data.
[[nodiscard]] std::optional<NcnnRule> ncnn_shape_rule(std::string_view type);
// Normalisations and attention.
[[nodiscard]] std::optional<NcnnRule> ncnn_composite_rule(std::string_view type);

}  // namespace edgesage
