// What a large file has between its weights, read instead of touched: of a mapping, every page that
// is touched costs a fault, and one far from all others a page table too, so that the same network
// would take longer the more its weights weigh.
//
// Text of the mapping stands for itself; `near` gives the same text in memory where it is short.
// Whatever is not copied is still right: it is in the mapping.
#pragma once

#include <cstddef>
#include <deque>
#include <string_view>
#include <vector>

#include "src/base/file.h"

namespace edgesage::onnx {

class Heads {
 public:
  static constexpr size_t kLongest = 4096;  // longer text stays in the mapping

  // `file` is that of the mapping, and needed until the last call; null, or a mapping that is
  // small: nothing is copied.
  Heads(std::string_view mapping, const OpenFile* file);

  // Whether the text is of a mapping that is not to be touched.
  [[nodiscard]] bool is_far(std::string_view text) const {
    return file_ != nullptr && text.data() >= mapping_.data() &&
           text.data() < mapping_.data() + mapping_.size();
  }
  // The same text in memory; `far` itself where it is longer than kLongest. Zeros where the file
  // became shorter meanwhile (`shortened`).
  std::string_view near(std::string_view far);
  [[nodiscard]] bool shortened() const { return shortened_; }
  // Where the file has what `at` points to, in the mapping or in a copy.
  [[nodiscard]] size_t offset_of(const char* at) const;

  // The copies, which what was read points into.
  [[nodiscard]] std::deque<std::vector<std::byte>> take_copies() { return std::move(copies_); }

 private:
  void read(size_t offset, size_t least);

  std::string_view mapping_;
  const OpenFile* file_;
  std::deque<std::vector<std::byte>> copies_;
  std::vector<size_t> offsets_;  // of the copies
  bool shortened_ = false;
};

}  // namespace edgesage::onnx
