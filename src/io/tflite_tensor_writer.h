// Tensors into a .tflite: shapes, quantisation, sparsity. A part of the writer (tflite_writer.h).
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstdint>
#include <string_view>

#include "edgesage/result.h"
#include "src/graph/graph.h"

namespace edgesage::tflite {
struct Tensor;
}

namespace edgesage {

struct TensorPlace {
  std::string_view name;    // what to write as the tensor's name
  uint32_t buffer = 0;      // its number in the file
  size_t tensor_count = 0;  // of the subgraph
};

// Errors name the field ("shape"), not the tensor: the caller does.
[[nodiscard]] Result<flatbuffers::Offset<tflite::Tensor>> write_tensor(
    const Tensor& tensor, const TensorPlace& place, flatbuffers::FlatBufferBuilder& builder);

}  // namespace edgesage
