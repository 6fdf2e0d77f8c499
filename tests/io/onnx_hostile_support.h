// Shared by the tests of odd and damaged ONNX files.
#pragma once

#include <cstddef>
#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/io/onnx/read.h"
#include "tests/io/onnx_test_support.h"

namespace edgesage::test {

// A model read from memory, and the bytes that it points into. Errors are those of "net.onnx".
struct ReadOnnx {
  std::vector<std::byte> bytes;
  Result<onnx::Model> model = make_error(ErrorCode::kInternal, "", "not read");
  [[nodiscard]] std::string warnings() const;
};
[[nodiscard]] ReadOnnx read_onnx_bytes(std::vector<std::byte> bytes);
[[nodiscard]] ReadOnnx read_onnx_model(const OnnxModel& model);

// A model was read, and `part` stands in its warnings.
void expect_warning(const ReadOnnx& file, std::string_view part);
// A model was refused as damaged, and `part` stands in the message.
void expect_refused(const ReadOnnx& file, std::string_view part);

// Processor time of this process: other work on the machine does not count.
class CpuTimer {
 public:
  [[nodiscard]] double seconds() const {
    return static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC;
  }

 private:
  std::clock_t start_ = std::clock();
};

}  // namespace edgesage::test
