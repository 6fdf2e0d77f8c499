#include "src/io/onnx/external_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "src/base/file.h"

namespace edgesage::onnx {
namespace {

namespace fs = std::filesystem;

bool leaves_folder(const fs::path& path) {
  return path.empty() || path.has_root_path() ||
         std::ranges::any_of(path, [](const fs::path& part) { return part == ".."; });
}

bool is_inside(const fs::path& file, const fs::path& folder) {
  const auto [in_folder, in_file] =
      std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return in_folder == folder.end();
}

tl::unexpected<Error> refuse(const std::string& location, std::string_view why) {
  return make_error(ErrorCode::kBadModel, "",
                    fmt::format("external data at '{}', {}", location, why));
}

}  // namespace

Result<ExternalFile> ExternalFiles::open(std::string_view location) {
  if (const auto found = open_.find(location); found != open_.end()) return found->second;
  const std::string spelled(location);
  EDGESAGE_ASSIGN_OR_RETURN(ExternalFile file, open_new(spelled));
  return open_.emplace(spelled, std::move(file)).first->second;
}

Result<ExternalFile> ExternalFiles::open_new(const std::string& location) {
  // A backslash separates folders where the model may have been written.
  std::string portable = location;
  std::ranges::replace(portable, '\\', '/');
  if (location.find('\0') != std::string::npos || leaves_folder(portable))
    return refuse(location,
                  "which is no path inside of the model's folder; only those are read: move the "
                  "file beside the model and name it so");
  ExternalFile file;
  file.missing = true;
  const auto missing = [&](std::string_view why) {
    warnings_.push_back(
        fmt::format("external data '{}' {}: sizes follow from the dimensions, "
                    "values are not known",
                    location, why));
    return file;
  };
  if (model_path_.empty()) return missing("is not looked for");
  std::error_code error;
  const fs::path model = fs::absolute(model_path_, error);
  const fs::path path = model.parent_path() / location;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return missing("is missing");
  if (!fs::is_regular_file(status)) return refuse(location, "which is no file");
  const fs::path real = fs::canonical(path, error);
  if (error) return missing(fmt::format("cannot be reached ({})", error.message()));
  const fs::path folder = fs::canonical(model.parent_path(), error);
  if (error) return missing(fmt::format("cannot be reached ({})", error.message()));
  const fs::path real_model = fs::canonical(model, error);
  if (!is_inside(real, folder) && (error || real.parent_path() != real_model.parent_path()))
    return refuse(location,
                  "a link that leaves the model's folder; copy the file beside the model");
  const auto mapped = MappedFile::open(real, ErrorCode::kBadModel);
  if (!mapped) return missing(mapped.error().message);
  file.bytes = (*mapped)->bytes();
  file.storage = *mapped;
  file.missing = false;
  return file;
}

}  // namespace edgesage::onnx
