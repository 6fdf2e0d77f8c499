// A file that lives as long as the object, for what a worker must open by name.
#pragma once

#include <filesystem>
#include <string_view>

#include "edgesage/result.h"

namespace edgesage::app {

class TemporaryFile {
 public:
  // All of standard input. kBadModel when it cannot be read, kInternal when there is no place.
  static Result<TemporaryFile> of_standard_input(std::string_view ending);
  // Empty; kInternal when there is no place.
  static Result<TemporaryFile> make(std::string_view ending);
  ~TemporaryFile();
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&& other) noexcept;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryFile(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace edgesage::app
