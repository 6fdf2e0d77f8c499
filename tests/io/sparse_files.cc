#include "tests/io/sparse_files.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "src/base/file.h"
#include "tests/io/odd_files.h"
#include "tests/io/onnx_test_support.h"

namespace edgesage::test {
namespace {

using onnx::ElementType;

constexpr int kLayers = 50;
constexpr int64_t kTableBytes = 65'536;  // of the .tflite; the weights follow

void append_varint(std::string& text, uint64_t value) {
  for (; value >= 0x80; value >>= 7U) text.push_back(static_cast<char>(value | 0x80U));
  text.push_back(static_cast<char>(value));
}

std::string opened_field(char tag, int64_t bytes) {
  std::string text(1, tag);
  append_varint(text, static_cast<uint64_t>(bytes));
  return text;
}

// A tensor up to its raw data, which begins where the text ends.
std::string tensor_head(const std::string& name, int64_t filters, int64_t bytes) {
  std::string text = onnx_raw(name, ElementType::kFloat, {filters, 64, 1, 1}, "").proto;
  text.pop_back();  // the length of no data
  append_varint(text, static_cast<uint64_t>(bytes));
  return opened_field(0x2a, static_cast<int64_t>(text.size()) + bytes) + text;
}

OnnxGraph layers(int64_t filters) {
  OnnxGraph graph("network");
  graph.input("v0", ElementType::kFloat, OnnxDims{1, 64, 56, 56});
  for (int i = 0; i < kLayers; ++i) {
    const std::string middle = fmt::format("conv{}", i), result = fmt::format("v{}", i + 1);
    graph
        .node("Conv", {"v0", fmt::format("w{}", i)}, {middle},
              {attr("dilations", {1, 1}), attr("group", 1), attr("kernel_shape", {1, 1}),
               attr("pads", {0, 0, 0, 0}), attr("strides", {1, 1})},
              {.name = fmt::format("/layers.{}/Conv", i)})
        .node("Relu", {middle}, {result}, {}, {.name = fmt::format("/layers.{}/Relu", i)})
        .output(result, ElementType::kFloat, OnnxDims{1, filters, 56, 56});
  }
  return graph;
}

}  // namespace

Status write_sparse_onnx(const std::filesystem::path& path, int64_t weight_bytes) {
  const int64_t filters = weight_bytes / kLayers / 256, bytes = filters * 256;
  const std::string graph = layers(filters).proto;
  std::vector<std::string> heads;
  int64_t size = static_cast<int64_t>(graph.size()) + kLayers * bytes;
  for (int i = 0; i < kLayers; ++i) {
    heads.push_back(tensor_head(fmt::format("w{}", i), filters, bytes));
    size += static_cast<int64_t>(heads.back().size());
  }
  std::ofstream file(path, std::ios::binary);
  file << OnnxModel().text() << opened_field(0x3a, size) << graph;
  for (const std::string& head : heads) {
    file << head;
    file.seekp(bytes, std::ios::cur);
  }
  const std::streamoff end = file.tellp();
  file.close();
  if (!file) return make_error(ErrorCode::kInvalidArgument, path.string(), "cannot be written");
  std::filesystem::resize_file(path, static_cast<uintmax_t>(end));
  return {};
}

Status write_sparse_tflite(const std::filesystem::path& path, int64_t weight_bytes) {
  EDGESAGE_RETURN_IF_ERROR(
      write_file(path, with_outside_weights(weight_bytes, kLayers, kTableBytes)));
  std::filesystem::resize_file(path, static_cast<uintmax_t>(kTableBytes + weight_bytes));
  return {};
}

std::vector<size_t> cached_pages(const std::filesystem::path& path) {
  const auto mapped = MappedFile::open(path, ErrorCode::kBadModel);
  if (!mapped) return {};
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t size = (*mapped)->bytes().size();
  std::vector<unsigned char> resident((size + page - 1) / page);
  auto* address = const_cast<std::byte*>((*mapped)->bytes().data());
  if (::mincore(address, size, resident.data()) != 0) return {};
  std::vector<size_t> cached;
  for (size_t i = 0; i < resident.size(); ++i)
    if ((resident[i] & 1U) != 0) cached.push_back(i * page);
  return cached;
}

}  // namespace edgesage::test
