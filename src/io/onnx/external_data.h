// Files beside a model that hold its weights (TensorProto.external_data). Only files inside of the
// model's folder are opened; each is mapped once.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"

namespace edgesage::onnx {

struct ExternalFile {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> storage;
  bool missing = false;
};

class ExternalFiles {
 public:
  // Without a path every file counts as missing.
  explicit ExternalFiles(std::filesystem::path model_path) : model_path_(std::move(model_path)) {}

  // The file at a location as the model spells it. Where a model is itself a link into a store of
  // files (as download caches lay them out), its data may be links into that folder too.
  // Errors (kBadModel, without a place): a location that leaves the folder, what is no plain file.
  // A file that does not exist or may not be read is `missing`, and so noted.
  Result<ExternalFile> open(std::string_view location);

  // One line a file that could not be opened.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  Result<ExternalFile> open_new(const std::string& location);

  std::filesystem::path model_path_;
  std::map<std::string, ExternalFile, std::less<>> open_;
  std::vector<std::string> warnings_;
};

}  // namespace edgesage::onnx
