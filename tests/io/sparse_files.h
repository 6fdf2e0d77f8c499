// Networks of 100 operators, 50 layers with weights and what follows each, whose weights are holes:
// gigabytes that take neither memory nor room on the disk. The weights lie apart from each other,
// as exporters write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "edgesage/result.h"

namespace edgesage::test {

// Pointwise convolutions and RELUs; raw_data of each initialiser follows its header.
[[nodiscard]] Status write_sparse_onnx(const std::filesystem::path& path, int64_t weight_bytes);
// FULLY_CONNECTED and ABS; the weights lie behind the tables, as large files have them.
[[nodiscard]] Status write_sparse_tflite(const std::filesystem::path& path, int64_t weight_bytes);

// Pages of the file that are in the system's cache: where each begins.
[[nodiscard]] std::vector<size_t> cached_pages(const std::filesystem::path& path);

}  // namespace edgesage::test
