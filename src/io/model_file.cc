#include "src/io/model_file.h"

#include <memory>
#include <string>
#include <utility>

#include "src/base/file.h"
#include "src/io/file_kind.h"
#include "src/io/tflite_reader.h"

namespace edgesage {

Result<Graph> read_model(const std::filesystem::path& path) {
  EDGESAGE_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file,
                            MappedFile::open(path, ErrorCode::kBadModel));
  const std::string name = path == "-" ? "standard input" : path.string();
  if (looks_like_tflite(file->bytes())) return read_tflite(std::move(file), name);
  return make_error(ErrorCode::kBadModel, name, describe_foreign_file(file->bytes()));
}

}  // namespace edgesage
