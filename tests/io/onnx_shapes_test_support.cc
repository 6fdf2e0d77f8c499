#include "tests/io/onnx_shapes_test_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/io/onnx/read.h"
#include "src/io/onnx/shapes_values.h"

namespace edgesage::test {
namespace {

using Kind = onnx::ValueType::Kind;

std::string element_text(onnx::ElementType element) {
  switch (element) {
    case onnx::ElementType::kFloat:
      return "float";
    case onnx::ElementType::kInt64:
      return "int64";
    case onnx::ElementType::kBool:
      return "bool";
    case onnx::ElementType::kInt32:
      return "int32";
    case onnx::ElementType::kUint8:
      return "uint8";
    case onnx::ElementType::kUndefined:
      return "?";
    default:
      return fmt::format("#{}", static_cast<int>(element));
  }
}

std::string type_text(const onnx::ValueType& type) {
  if (type.kind == Kind::kUnknown) return "unknown";
  if (type.kind == Kind::kTensor)
    return element_text(type.element) + " " + (type.has_shape ? onnx::text(type.shape) : "?");
  const char* kind = type.kind == Kind::kSequence   ? "sequence"
                     : type.kind == Kind::kOptional ? "optional"
                                                    : "other";
  return fmt::format("{} of {}", kind, type.inner ? type_text(*type.inner) : "?");
}

}  // namespace

std::string Typed::type(std::string_view name, int32_t graph) const {
  const onnx::InferredValue* value = inferred.find(graph, name);
  return value == nullptr ? "none" : type_text(value->type);
}

std::string Typed::constant(std::string_view name, int32_t graph) const {
  const onnx::InferredValue* value = inferred.find(graph, name);
  if (value == nullptr || value->constant == nullptr) return "none";
  const onnx::FoldedPtr folded = onnx::load(*value->constant);
  if (folded == nullptr) return "not loaded";
  std::vector<std::string> elements;
  for (const onnx::Scalar& scalar : folded->elements)
    elements.push_back(onnx::is_real(folded->element) ? fmt::format("{}", scalar.f)
                                                      : fmt::format("{}", scalar.i));
  return fmt::format("[{}]", fmt::join(elements, ", "));
}

bool Typed::warns(std::string_view text) const {
  return std::ranges::any_of(inferred.warnings, [&](const std::string& warning) {
    return warning.find(text) != std::string::npos;
  });
}

Typed infer(const OnnxModel& model, const onnx::ShapeOptions& options) {
  Typed typed;
  typed.bytes = model.bytes();
  auto read = onnx::read_onnx(typed.bytes, nullptr, "test.onnx");
  if (!read) {
    ADD_FAILURE() << read.error().to_string();
    return typed;
  }
  typed.model = std::move(*read);
  auto inferred = onnx::infer_types(typed.model, options);
  if (!inferred) {
    ADD_FAILURE() << inferred.error().to_string();
    return typed;
  }
  typed.inferred = std::move(*inferred);
  return typed;
}

std::string infer_error(const OnnxModel& model, const onnx::ShapeOptions& options) {
  const std::vector<std::byte> bytes = model.bytes();
  const auto read = onnx::read_onnx(bytes, nullptr, "test.onnx");
  if (!read) return read.error().to_string();
  const auto inferred = onnx::infer_types(*read, options);
  return inferred ? "" : inferred.error().to_string();
}

}  // namespace edgesage::test
