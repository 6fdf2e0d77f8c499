#include "src/io/onnx/heads.h"

#include <algorithm>

namespace edgesage::onnx {
namespace {

constexpr size_t kLeastFile = size_t{2} << 20U;  // below, a mapping has a page table or two
constexpr size_t kFirst = 1024, kMost = 65'536;  // of one reading

std::string_view text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Heads::Heads(std::string_view mapping, const OpenFile* file)
    : mapping_(mapping), file_(mapping.size() >= kLeastFile ? file : nullptr) {}

std::string_view Heads::near(std::string_view far) {
  if (far.size() > kLongest) return far;
  const auto offset = static_cast<size_t>(far.data() - mapping_.data());
  const auto is_last = [&] {
    return !copies_.empty() && offset >= offsets_.back() &&
           offset + far.size() <= offsets_.back() + copies_.back().size();
  };
  if (!is_last()) read(offset, far.size());
  return text_of(copies_.back()).substr(offset - offsets_.back(), far.size());
}

// Ever more where the text goes on from what was read before, for that is no head of a tensor.
void Heads::read(size_t offset, size_t least) {
  size_t size = kFirst;
  if (!copies_.empty() && offset >= offsets_.back() &&
      offset <= offsets_.back() + copies_.back().size())
    size = std::min(2 * copies_.back().size(), kMost);
  size = std::min(std::max(size, least), mapping_.size() - offset);
  std::vector<std::byte>& copy = copies_.emplace_back(size);
  offsets_.push_back(offset);
  if (file_->read_at(offset, copy)) return;
  shortened_ = true;
  std::ranges::fill(copy, std::byte{0});
}

size_t Heads::offset_of(const char* at) const {
  for (size_t i = 0; i < copies_.size(); ++i) {
    const std::string_view text = text_of(copies_[i]);
    if (at >= text.data() && at <= text.data() + text.size())
      return offsets_[i] + static_cast<size_t>(at - text.data());
  }
  return static_cast<size_t>(at - mapping_.data());
}

}  // namespace edgesage::onnx
