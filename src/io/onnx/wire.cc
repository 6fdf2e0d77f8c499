#include "src/io/onnx/wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <protozero/exception.hpp>
#include <protozero/varint.hpp>

namespace edgesage::onnx {
namespace {

constexpr size_t kPathSegments = 12;
constexpr std::ptrdiff_t kLongestVarint = 10;

// Only the varints of protozero are used: its reader cuts lengths to 32 bits.
const char* decode(const char*& at, const char* end, uint64_t& value) {
  try {
    value = protozero::decode_varint(&at, end);
    return nullptr;
  } catch (const protozero::varint_too_long_exception&) {
    return "a varint of more than 10 bytes";
  } catch (const protozero::exception&) {
    return "a varint that the end of its message cuts off";
  }
}

template <class T>
T little_endian(const char* at) {
  static_assert(std::endian::native == std::endian::little);
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::string segment(const char* name, int64_t index) {
  return index < 0 ? std::string(name) : fmt::format("{}[{}]", name, index);
}

}  // namespace

int32_t Wire::add_origin(Origin origin) {
  origins_.push_back(origin);
  return static_cast<int32_t>(origins_.size() - 1);
}

// From the inside out, so that a deep path loses its beginning.
std::string Wire::path_of(const Message* where) const {
  std::vector<std::string> segments;
  int32_t origin = -1;
  for (; where != nullptr; where = where->parent_) {
    if (where->name_ != nullptr) segments.push_back(segment(where->name_, where->index_));
    origin = where->origin_;
  }
  while (origin >= 0 && segments.size() < kPathSegments) {
    const Origin& found = origins_[static_cast<size_t>(origin)];
    segments.emplace_back(found.field);
    if (found.attribute >= 0) {
      segments.push_back(segment("attribute", found.attribute));
      segments.push_back(segment("node", found.index));
    } else {
      segments.back() = segment(found.field, found.index);
    }
    origin = found.parent;
  }
  std::string path = origin >= 0 ? "..." : "";
  for (auto each = segments.rbegin(); each != segments.rend(); ++each)
    path += (path.empty() ? "" : ".") + *each;
  return path;
}

void Wire::fail(const char* at, const Message* where, std::string message) {
  if (fault_) return;
  fault_ = WireFault{heads_.offset_of(at), path_of(where), std::move(message)};
}

void Message::fail(std::string message) { wire_->fail(tag_at_, this, std::move(message)); }

void Message::fail_whole(std::string message) {
  name_ = nullptr;
  wire_->fail(begin_, this, std::move(message));
}

void Message::name_field(const char* name, int64_t index) {
  name_ = name;
  index_ = index;
}

uint64_t Message::varint() {
  const std::ptrdiff_t left = end_ - at_;
  const std::string_view text =
      near({at_, static_cast<size_t>(far_ ? std::min(left, kLongestVarint) : left)});
  const char* at = text.data();
  uint64_t value = 0;
  if (const char* why = decode(at, text.data() + text.size(), value)) {
    wire_->fail(at_, this, why);
    at_ = end_;
    return 0;
  }
  at_ += at - text.data();
  return value;
}

std::string_view Message::near(std::string_view text) {
  if (!far_) return text;
  const std::string_view found = wire_->heads().near(text);
  if (wire_->heads().shortened()) fail("the file became shorter while it was read");
  return found;
}

std::string_view Message::take(uint64_t size) {
  const auto left = static_cast<uint64_t>(end_ - at_);
  if (size > left) {
    wire_->fail(tag_at_, this,
                fmt::format("{} bytes are announced where {} are left; the file is cut off or "
                            "damaged",
                            size, left));
    at_ = end_;
    return {};
  }
  const std::string_view taken(at_, static_cast<size_t>(size));
  at_ += size;
  return taken;
}

void Message::skip() {
  switch (type_) {
    case Type::kVarint:
      varint();
      break;
    case Type::kFixed64:
      take(8);
      break;
    case Type::kBytes:
      take(varint());
      break;
    case Type::kFixed32:
      take(4);
      break;
  }
}

bool Message::next() {
  if (!good()) return false;
  if (pending_) {
    skip();
    pending_ = false;
    if (!good()) return false;
  }
  name_ = nullptr;
  if (at_ == end_) return false;
  tag_at_ = at_;
  const uint64_t tag = varint();
  if (!good()) return false;
  const auto type = static_cast<unsigned>(tag & 7U);
  const uint64_t number = tag >> 3U;
  if (number == 0 || number >= (uint64_t{1} << 29U)) {
    fail(fmt::format("field number {} where 1 to {} are allowed; this is no ONNX message", number,
                     (1U << 29U) - 1));
    return false;
  }
  if (type == 3 || type == 4 || type > 5) {
    fail(fmt::format("field {} has wire type {}, which ONNX does not use", number, type));
    return false;
  }
  field_ = static_cast<uint32_t>(number);
  type_ = static_cast<Type>(type);
  pending_ = true;
  return true;
}

bool Message::expect(Type type) {
  pending_ = false;
  if (type_ == type) return true;
  fail(fmt::format("wire type {} where {} is wanted", static_cast<int>(type_),
                   static_cast<int>(type)));
  return false;
}

int64_t Message::integer(const char* name) {
  name_field(name, -1);
  return expect(Type::kVarint) ? static_cast<int64_t>(varint()) : 0;
}

float Message::float32(const char* name) {
  name_field(name, -1);
  if (!expect(Type::kFixed32)) return 0;
  const std::string_view taken = near(take(4));
  return taken.size() == 4 ? little_endian<float>(taken.data()) : 0;
}

std::string_view Message::bytes(const char* name, int64_t index) {
  name_field(name, index);
  return expect(Type::kBytes) ? near(take(varint())) : std::string_view();
}

Message Message::message(const char* name, int64_t index) {
  std::string_view content = bytes(name, index);
  // Always a place in the file, so that offsets can be told.
  if (content.data() == nullptr) content = std::string_view(at_, 0);
  return {*wire_, content, this};
}

std::string_view Message::encoded(const char* name, size_t fixed_size) {
  const Type single = fixed_size == 0   ? Type::kVarint
                      : fixed_size == 4 ? Type::kFixed32
                                        : Type::kFixed64;
  if (type_ == single) {
    name_field(name, -1);
    pending_ = false;
    if (fixed_size != 0) return near(take(fixed_size));
    const char* start = at_;
    varint();
    return near({start, static_cast<size_t>(at_ - start)});
  }
  const std::string_view packed = bytes(name);
  if (fixed_size != 0 && packed.size() % fixed_size != 0)
    fail(fmt::format("{} bytes, which are no whole number of {}-byte values", packed.size(),
                     fixed_size));
  return packed;
}

void Message::integers(const char* name, std::vector<int64_t>& to) {
  if (type_ == Type::kVarint) {
    to.push_back(integer(name));
  } else if (!decode_varints(encoded(name, 0), to)) {
    fail("a packed varint that is cut off or has more than 10 bytes");
  }
}

void Message::floats(const char* name, std::vector<double>& to) {
  const std::string_view packed = encoded(name, 4);
  for (size_t at = 0; at + 4 <= packed.size(); at += 4)
    to.push_back(static_cast<double>(little_endian<float>(packed.data() + at)));
}

bool decode_varints(std::string_view encoded, std::vector<int64_t>& to) {
  const char* at = encoded.data();
  const char* end = at + encoded.size();
  while (at != end) {
    uint64_t value = 0;
    if (decode(at, end, value) != nullptr) return false;
    to.push_back(static_cast<int64_t>(value));
  }
  return true;
}

}  // namespace edgesage::onnx
