// Inference of a model that a test puts together, and its results as text.
#pragma once

#include <string>
#include <string_view>

#include "edgesage/result.h"
#include "src/io/onnx/shapes.h"
#include "tests/io/onnx_test_support.h"

namespace edgesage::test {

inline constexpr auto kFloat = onnx::ElementType::kFloat;
inline constexpr auto kInt64 = onnx::ElementType::kInt64;
inline constexpr auto kBool = onnx::ElementType::kBool;

// A model that was read, and what was inferred of it.
struct Typed {
  std::vector<std::byte> bytes;
  onnx::Model model;
  onnx::Inferred inferred;

  // "float [1, 3, ?]", "int64 ?" without a shape, "none" where the value is not there; N by name.
  [[nodiscard]] std::string type(std::string_view name, int32_t graph = 0) const;
  // Elements of a constant of integers or bool: "[2, 3]"; "none" where it is not constant.
  [[nodiscard]] std::string constant(std::string_view name, int32_t graph = 0) const;
  // Whether a warning holds all of the text.
  [[nodiscard]] bool warns(std::string_view text) const;
};

// Reads and infers; a failure of the reader fails the test.
[[nodiscard]] Typed infer(const OnnxModel& model, const onnx::ShapeOptions& options = {});
// The error of inference, as text; empty where there is none.
[[nodiscard]] std::string infer_error(const OnnxModel& model, const onnx::ShapeOptions& options);

}  // namespace edgesage::test
