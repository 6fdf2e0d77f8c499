#include "tests/io/onnx_hostile_support.h"

#include <gtest/gtest.h>

#include <utility>

namespace edgesage::test {

std::string ReadOnnx::warnings() const {
  std::string all;
  if (model)
    for (const std::string& warning : model->warnings) all += warning + "\n";
  return all;
}

ReadOnnx read_onnx_bytes(std::vector<std::byte> bytes) {
  ReadOnnx result;
  result.bytes = std::move(bytes);
  result.model = onnx::read_onnx(result.bytes, nullptr, "net.onnx");
  return result;
}

ReadOnnx read_onnx_model(const OnnxModel& model) { return read_onnx_bytes(model.bytes()); }

void expect_warning(const ReadOnnx& file, std::string_view part) {
  ASSERT_TRUE(file.model) << file.model.error().to_string();
  EXPECT_NE(file.warnings().find(part), std::string::npos) << file.warnings();
}

void expect_refused(const ReadOnnx& file, std::string_view part) {
  ASSERT_FALSE(file.model) << part;
  EXPECT_EQ(file.model.error().code, ErrorCode::kBadModel);
  EXPECT_EQ(file.model.error().where, "net.onnx");
  EXPECT_NE(file.model.error().message.find(part), std::string::npos) << file.model.error().message;
}

}  // namespace edgesage::test
