// Odd .tflite files that no Graph of ours stands for: put together from the schema's tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace edgesage::test {

// deprecated_builtin_code and builtin_code as given; an ADD-like operator of two inputs.
[[nodiscard]] std::vector<std::byte> with_codes(int dep, int code, bool absent = false);
// The vector of operators is absent, and the input is the output.
[[nodiscard]] std::vector<std::byte> without_operators();
// One tensor whose shape is null, [], [0] or [1,0,3,4], passed through an ABS.
[[nodiscard]] std::vector<std::byte> with_shape(const std::vector<int32_t>* shape);
// One operator with a tensor of each element type; the last one is of a type that does not exist.
[[nodiscard]] std::vector<std::byte> all_types(bool with_unknown);

}  // namespace edgesage::test
