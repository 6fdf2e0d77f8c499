// A folder of model files: what mutations are made of.
//
//   Result<ModelLibrary> models = ModelLibrary::open("../shared/models");
//   Result<Graph> graph = models->build("1f2e3d4c5b6a7988~17");
//
// A mutation's code is the content hash of its base file, "~", and the seed of the mutation. Files
// are known by their bytes alone: they may be renamed and moved.
//
// A folder with an `index.csv` (with a column `file`) has files that are kept for testing: its
// rows of even number, counted from 0, and everything under a folder named tiny. They are not part
// of the library. In other folders every .tflite counts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/graph/graph.h"

namespace edgesage {

struct MutationCode {
  std::string base;  // 16 lower-case hexadecimal digits
  uint64_t seed = 0;

  // kInvalidArgument for other forms.
  [[nodiscard]] static Result<MutationCode> parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;
};

class ModelLibrary {
 public:
  // Hashes every file. kInvalidArgument where nothing can be read.
  [[nodiscard]] static Result<ModelLibrary> open(const std::filesystem::path& folder);

  [[nodiscard]] size_t size() const { return files_.size(); }
  // nullptr if no file has this hash.
  [[nodiscard]] const std::filesystem::path* find(const std::string& hash) const;

  // The mutated network. kInvalidArgument where no file has the hash, with what to do;
  // kUnsupported where the file offers nothing to mutate. Milliseconds.
  [[nodiscard]] Result<Graph> build(const MutationCode& code) const;

  // Codes number `first`, `first` + 1, ...; each base is drawn from the .tflite files without
  // custom operators that can be mutated, whole and quantised networks more often than single
  // operators. Tries every file once. kInvalidArgument where there is none.
  [[nodiscard]] Result<std::vector<MutationCode>> draw(uint64_t first, uint64_t count) const;

 private:
  ModelLibrary() = default;
  Status add(const std::filesystem::path& file);

  std::filesystem::path folder_;
  std::map<std::string, std::filesystem::path> files_;  // by hash
};

// The library in the folder `models` of the directory that EDGESAGE_DATA_DIR names; opened when
// first asked for. An error says what is missing.
[[nodiscard]] const Result<ModelLibrary>& default_model_library();

}  // namespace edgesage
