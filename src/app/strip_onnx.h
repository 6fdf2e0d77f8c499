// `edgesage strip` of an ONNX file into an ONNX file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "edgesage/result.h"
#include "src/graph/graph.h"

namespace edgesage::app {

struct StrippedOnnx {
  std::vector<std::byte> bytes;
  int64_t constants = 0;  // that lost their values
  int64_t kept = 0;
};

// A file's bytes as a Graph.
using GraphReader = std::function<Result<Graph>(std::span<const std::byte>)>;

// The file with other values of its weights, in their places: floating-point numbers and biases are
// 0; of 8-bit weights those that their statistics are drawn from are shuffled among each other, and
// all others become 0, so that encoded sizes are estimated as before. Small constants, scales, zero
// points and slopes stay, and whole numbers that may be shapes. `read` is called a few times, with
// changed copies, to find where the elements lie that the statistics look at. External data are not
// part of the copy. kUnsupported where weights are not stored as raw data (their numbers would have
// to be written anew), kBadModel as read_onnx().
[[nodiscard]] Result<StrippedOnnx> strip_onnx(std::span<const std::byte> file,
                                              const std::string& name, uint64_t seed,
                                              const GraphReader& read);

}  // namespace edgesage::app
