// Files: mapped for reading, replaced atomically for writing. Errors name the path and the system's
// reason; their code is the caller's (`code`), since only the caller knows what the file is.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "edgesage/result.h"

namespace edgesage {

class MappedFile;

// A file open for reading; closed when this goes.
class OpenFile {
 public:
  // "-" is standard input.
  static Result<OpenFile> open(const std::filesystem::path& path, ErrorCode code);
  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&&) = delete;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile();

  // The whole of it; lives on when this goes.
  [[nodiscard]] Result<std::shared_ptr<const MappedFile>> map() const;
  // Copies the bytes from `offset` on. False where they cannot be read, or are fewer: the file
  // became shorter, or is a pipe.
  [[nodiscard]] bool read_at(size_t offset, std::span<std::byte> to) const;

 private:
  OpenFile(int descriptor, std::string name, ErrorCode code)
      : descriptor_(descriptor), name_(std::move(name)), code_(code) {}
  int descriptor_;
  std::string name_;
  ErrorCode code_;
};

// A file mapped read-only, or (from standard input or a pipe) read into memory. Immutable.
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path,
                                                        ErrorCode code);
  // Bytes that are in no file, copied.
  static std::shared_ptr<const MappedFile> holding(std::span<const std::byte> bytes);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] bool is_mapped() const { return owned_ == nullptr; }

 private:
  friend class OpenFile;
  MappedFile() = default;
  std::span<const std::byte> bytes_;
  std::unique_ptr<std::byte[]> owned_;  // null when mapped
};

[[nodiscard]] Result<std::string> read_text(const std::filesystem::path& path, ErrorCode code);

// Writes beside the target and renames, so that readers see the old file or the whole new one.
[[nodiscard]] Status write_file(const std::filesystem::path& path,
                                std::span<const std::byte> bytes);
[[nodiscard]] Status write_text(const std::filesystem::path& path, std::string_view text);

}  // namespace edgesage
