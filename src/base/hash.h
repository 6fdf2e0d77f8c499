// 128-bit content hashes (XXH3), for identity, not for security.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace edgesage {

// Streaming. Integers are added as eight little-endian bytes and strings with their length, so
// that the hash does not depend on how fields are grouped.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  void add_bytes(std::span<const std::byte> bytes);
  void add(std::string_view text);
  void add(double value);
  template <std::integral T>
  void add(T value) {
    add_integer(static_cast<uint64_t>(value));
  }

  [[nodiscard]] std::string hex() const;  // 32 lower-case hexadecimal digits
  [[nodiscard]] uint64_t low64() const;   // the lower half, for seeds and checksums

 private:
  void add_integer(uint64_t value);
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] uint64_t checksum64(std::span<const std::byte> bytes);

}  // namespace edgesage
