// What the caller's options make of the inputs of a model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "edgesage/result.h"
#include "src/io/onnx/model.h"
#include "src/io/onnx/shapes.h"

namespace edgesage::onnx {

struct ResolvedInput {
  ValueType type;
  bool stale = false;  // a fixed dimension was replaced: what value_info says behind it is of old
};

struct ResolvedInputs {
  std::unordered_map<std::string_view, int64_t> symbols;
  std::vector<ResolvedInput> inputs;  // as GraphTable::inputs of the main graph
};

// Errors: as infer_types. Says in `warnings` which batch it assumed. Cost: linear in the inputs.
[[nodiscard]] Result<ResolvedInputs> resolve_inputs(const Model& model, const ShapeOptions& options,
                                                    std::vector<std::string>& warnings);

// `type` with the numbers of its symbols, at every level; negative dimensions are unknown.
[[nodiscard]] ValueType with_symbols(const ValueType& type,
                                     const std::unordered_map<std::string_view, int64_t>& symbols);

}  // namespace edgesage::onnx
