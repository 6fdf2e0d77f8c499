// Shared by the tests of .tflite reading and writing.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/graph/graph.h"
#include "tests/support/test_paths.h"

namespace edgesage::test {

// Where two graphs differ ("subgraph 0, tensor 3, shape"), or empty if they hold the same. Buffers
// are compared by what they hold, wherever they stand. Warnings are not compared.
struct Comparison {
  bool names = true;
};
[[nodiscard]] std::string first_difference(const Graph& left, const Graph& right,
                                           const Comparison& comparison = {});

// A model as a file would give it.
[[nodiscard]] Result<Graph> read_bytes(std::span<const std::byte> bytes);
[[nodiscard]] Result<Graph> read_bytes(std::string_view bytes);

[[nodiscard]] std::vector<std::byte> file_bytes(const std::filesystem::path& path);

// int8: input 1x4x4x2, convolution with 3 filters of 1x1, per-channel scales, RELU.
[[nodiscard]] Graph small_convolution();

// Those of kind "tflite".
[[nodiscard]] std::vector<IndexedModel> tflite_models(const std::filesystem::path& data_dir);

}  // namespace edgesage::test
