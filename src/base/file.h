// Files: mapped for reading, replaced atomically for writing. Errors name the path and the system's
// reason; their code is the caller's (`code`), since only the caller knows what the file is.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "edgesage/result.h"

namespace edgesage {

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

 private:
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
