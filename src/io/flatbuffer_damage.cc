#include "src/io/flatbuffer_damage.h"

#include <flatbuffers/minireflect.h>
#include <fmt/format.h>

#include <optional>
#include <string_view>

namespace edgesage {
namespace {

namespace fb = flatbuffers;
using Found = std::optional<std::string>;

class Walker {
 public:
  explicit Walker(std::span<const std::byte> file) : file_(file) {}

  Found root(const fb::TypeTable& types) {
    uint32_t target = 0;
    if (Found found = follow(0, "root", target)) return found;
    return table(target, types, "");
  }

 private:
  static constexpr int kMostTables = 1'000'000;

  [[nodiscard]] bool holds(uint64_t at, uint64_t size) const {
    return at <= file_.size() && size <= file_.size() - at;
  }
  template <class T>
  [[nodiscard]] T read(uint64_t at) const {
    return fb::ReadScalar<T>(file_.data() + at);
  }

  [[nodiscard]] Found past_end(std::string_view path, uint64_t at, uint64_t size) const {
    return fmt::format(
        "{} takes bytes {} to {}, but the file ends at byte {}: it is truncated or "
        "damaged; get it again",
        path, at, at + size, file_.size());
  }
  [[nodiscard]] Found need(std::string_view path, uint64_t at, uint64_t size,
                           uint64_t alignment) const {
    if (!holds(at, size)) return past_end(path, at, size);
    if (at % alignment != 0)
      return fmt::format("{} at byte {} is not aligned to {} bytes", path, at, alignment);
    return std::nullopt;
  }

  // The offset at `at` leads to `target`.
  [[nodiscard]] Found follow(uint64_t at, std::string_view path, uint32_t& target) const {
    if (Found found = need(path, at, sizeof(fb::uoffset_t), sizeof(fb::uoffset_t))) return found;
    const uint64_t to = at + read<fb::uoffset_t>(at);
    if (to == at || !holds(to, sizeof(fb::uoffset_t)))
      return fmt::format(
          "{} at byte {} points to byte {}, but the file has {} bytes: it is "
          "truncated or damaged; get it again",
          path, at, to, file_.size());
    target = static_cast<uint32_t>(to);
    return std::nullopt;
  }

  // Elements of a vector whose length stands at `at`.
  [[nodiscard]] Found elements(uint64_t at, uint64_t element_size, std::string_view path,
                               uint32_t& count) const {
    if (Found found = need(path, at, sizeof(fb::uoffset_t), sizeof(fb::uoffset_t))) return found;
    count = read<fb::uoffset_t>(at);
    return need(path, at + sizeof(fb::uoffset_t), count * element_size, 1);
  }

  Found text(uint64_t at, std::string_view path) const {
    uint32_t length = 0;
    if (Found found = elements(at, 1, path, length)) return found;
    const uint64_t end = at + sizeof(fb::uoffset_t) + length;
    if (!holds(end, 1)) return past_end(path, end, 1);
    if (read<uint8_t>(end) != 0)
      return fmt::format("{} at byte {} is a text without its final zero", path, at);
    return std::nullopt;
  }

  Found vector(uint64_t at, fb::ElementaryType type, const fb::TypeTable* types,
               const std::string& path) {
    const size_t size =
        type == fb::ET_SEQUENCE ? sizeof(fb::uoffset_t) : fb::InlineSize(type, types);
    uint32_t count = 0;
    if (Found found = elements(at, size, path, count)) return found;
    if (type != fb::ET_SEQUENCE) return std::nullopt;
    for (uint32_t i = 0; i < count; ++i) {
      const std::string element = fmt::format("{}[{}]", path, i);
      uint32_t target = 0;
      const uint64_t slot = at + sizeof(fb::uoffset_t) + i * sizeof(fb::uoffset_t);
      if (Found found = follow(slot, element, target)) return found;
      if (Found found = table(target, *types, element)) return found;
    }
    return std::nullopt;
  }

  Found field(uint64_t at, const fb::TypeCode& code, const fb::TypeTable* types, uint8_t union_type,
              const std::string& path) {
    const auto type = static_cast<fb::ElementaryType>(code.base_type);
    const bool refers = code.is_repeating != 0 || type == fb::ET_STRING || type == fb::ET_SEQUENCE;
    if (!refers) {
      const size_t size = fb::InlineSize(type, nullptr);
      return need(path, at, size, size);
    }
    uint32_t target = 0;
    if (Found found = follow(at, path, target)) return found;
    if (code.is_repeating != 0) return vector(target, type, types, path);
    if (type == fb::ET_STRING) return text(target, path);
    if (types->st == fb::ST_TABLE) return table(target, *types, path);
    // A union: of which member, the field before says; members newer than ours are passed over.
    if (union_type == 0 || union_type >= types->num_elems) return std::nullopt;
    return table(target, *types->type_refs[types->type_codes[union_type].sequence_ref](), path);
  }

  Found table(uint64_t at, const fb::TypeTable& types, const std::string& path) {
    if (++tables_ > kMostTables) return "it has too many tables, or shares them in circles";
    const std::string name = path.empty() ? "the root table" : path;
    if (Found found = need(name, at, sizeof(fb::soffset_t), sizeof(fb::soffset_t))) return found;
    const int64_t vtable = static_cast<int64_t>(at) - read<fb::soffset_t>(at);
    if (vtable < 0 || !holds(static_cast<uint64_t>(vtable), sizeof(fb::voffset_t)))
      return fmt::format("{} at byte {} has its layout at byte {}, outside of the file ({} bytes)",
                         name, at, vtable, file_.size());
    const auto layout = static_cast<uint64_t>(vtable);
    if (Found found = need(name + " (layout)", layout, sizeof(fb::voffset_t), 2)) return found;
    const auto layout_size = read<fb::voffset_t>(layout);
    if (layout_size % 2 != 0)
      return fmt::format("{} at byte {} has a layout of an odd size", name, at);
    if (Found found = need(name + " (layout)", layout, layout_size, 2)) return found;

    uint8_t before = 0;  // the field before, where it says the type of a union
    for (size_t i = 0; i < types.num_elems; ++i) {
      const auto slot = fb::FieldIndexToOffset(static_cast<fb::voffset_t>(i));
      const fb::voffset_t offset =
          slot + sizeof(fb::voffset_t) <= layout_size ? read<fb::voffset_t>(layout + slot) : 0;
      if (offset == 0) {
        before = 0;
        continue;
      }
      const fb::TypeCode& code = types.type_codes[i];
      const fb::TypeTable* target =
          code.sequence_ref >= 0 ? types.type_refs[code.sequence_ref]() : nullptr;
      const std::string child =
          path.empty() ? std::string(types.names[i]) : fmt::format("{}.{}", path, types.names[i]);
      if (Found found = field(at + offset, code, target, before, child)) return found;
      before = code.base_type == fb::ET_UTYPE ? read<uint8_t>(at + offset) : uint8_t{0};
    }
    return std::nullopt;
  }

  std::span<const std::byte> file_;
  int tables_ = 0;
};

}  // namespace

std::string describe_damage(std::span<const std::byte> file, const fb::TypeTable& root) {
  if (Found found = Walker(file).root(root)) return *found;
  return "its FlatBuffer is damaged: an offset or length in it is wrong";
}

}  // namespace edgesage
