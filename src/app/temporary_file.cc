#include "src/app/temporary_file.h"

#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "src/base/file.h"

namespace edgesage::app {

Result<TemporaryFile> TemporaryFile::of_standard_input(std::string_view ending) {
  EDGESAGE_ASSIGN_OR_RETURN(const auto input, MappedFile::open("-", ErrorCode::kBadModel));
  EDGESAGE_ASSIGN_OR_RETURN(TemporaryFile file, make(ending));
  EDGESAGE_RETURN_IF_ERROR(write_file(file.path(), input->bytes()));
  return file;
}

Result<TemporaryFile> TemporaryFile::make(std::string_view ending) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  std::string name = (folder / "edgesage-XXXXXX").string() + std::string(ending);
  const int descriptor = error ? -1 : mkstemps(name.data(), static_cast<int>(ending.size()));
  if (descriptor < 0)
    return make_error(
        ErrorCode::kInternal, folder.string(),
        "cannot make a temporary file; set TMPDIR to a directory that can be written");
  close(descriptor);
  return TemporaryFile{name};
}

TemporaryFile::~TemporaryFile() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove(path_, ignored);
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

TemporaryFile& TemporaryFile::operator=(TemporaryFile&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

}  // namespace edgesage::app
