// Tensors of a .tflite: shapes, quantisation, sparsity. A part of the reader (tflite_reader.h).
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgesage/result.h"
#include "src/graph/graph.h"

namespace edgesage::tflite {
struct Tensor;
}

namespace edgesage {

// The library's verifier checks where the length of a vector stands, not its 8-byte elements.
template <class T>
[[nodiscard]] bool is_aligned(const flatbuffers::Vector<T>& vector) {
  return reinterpret_cast<uintptr_t>(vector.Data()) % sizeof(T) == 0;
}

// Bounds what one file may make us allocate: tables of a FlatBuffer may be shared, so a small
// hostile file could otherwise unfold into gigabytes. No honest file comes near.
class ReadBudget {
 public:
  explicit ReadBudget(size_t file_bytes) : left_((size_t{64} << 20) + file_bytes * 64) {}
  // False when the budget is used up.
  [[nodiscard]] bool take(size_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }

 private:
  size_t left_;
};

// What a file seems to have wrong but can be read with; a hostile file may have a million.
class ReadWarnings {
 public:
  explicit ReadWarnings(std::vector<std::string>* to) : to_(to) {}
  void add(std::string text) {
    constexpr size_t kMost = 100;
    if (to_->size() < kMost)
      to_->push_back(std::move(text));
    else if (to_->size() == kMost)
      to_->push_back("further warnings are not listed");
  }

 private:
  std::vector<std::string>* to_;
};

struct TensorContext {
  std::string_view file;
  size_t subgraph = 0;
  size_t tensor = 0;
  std::span<const Buffer> buffers;  // the model's
  size_t tensor_count = 0;          // of the subgraph
  ReadBudget* budget = nullptr;
  ReadWarnings* warnings = nullptr;

  // "model.tflite, subgraph 0, tensor 3"
  [[nodiscard]] std::string where() const;
};

// Everything of one verified tensor; `Tensor::buffer` is set if it names a buffer with bytes, which
// then are as many as the shape and type need.
[[nodiscard]] Result<Tensor> read_tensor(const tflite::Tensor& from, const TensorContext& context);

}  // namespace edgesage
