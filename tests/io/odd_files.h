// Small .tflite files that are odd, damaged or hostile, by the ids of the public bug reports that
// they stand for (T01 ...). Made here, byte by byte where that is the point.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/graph/graph.h"

namespace edgesage::test {

struct OddFile {
  std::string name;  // "T03_both_absent"
  std::vector<std::byte> bytes;
};

// All of them; the same bytes each time.
[[nodiscard]] const std::vector<OddFile>& odd_files();
// The one of that name; empty where there is none.
[[nodiscard]] std::vector<std::byte> odd_file(std::string_view name);

// Parts of them, for tests that vary them.
[[nodiscard]] Tensor plain_tensor(std::string name, DataType type, std::vector<int64_t> shape);
// A graph whose inputs and outputs are those of `op`, constants (with a buffer) excepted.
[[nodiscard]] Graph one_operator(Operator op, std::vector<Tensor> inputs,
                                 std::vector<Tensor> outputs);
// Gives the tensor bytes of its own in the graph: `bytes`, or as many zeros as its shape needs.
void make_constant(Graph& graph, Tensor& tensor, std::span<const std::byte> bytes = {});
// A convolution of `kernel` x `kernel` over int8 [1,side,side,channels]; 1 x 1 by default.
[[nodiscard]] Graph convolution(int64_t side, int64_t channels, int64_t filters);

// Fully connected layers of `bytes` int8 weights in all, which lie behind the tables, from byte
// `offset` of the file on; an ABS follows each. The tables alone.
[[nodiscard]] std::vector<std::byte> with_outside_weights(int64_t bytes, int layers,
                                                          int64_t offset);

}  // namespace edgesage::test
