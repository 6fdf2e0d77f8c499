#include "src/io/model_file.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "src/base/file.h"
#include "src/io/file_kind.h"
#include "src/io/ncnn_param.h"
#include "src/io/ncnn_reader.h"
#include "src/io/tflite_reader.h"

namespace edgesage {

Result<Graph> read_model(const std::filesystem::path& path, const ReadOptions& options) {
  EDGESAGE_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file,
                            MappedFile::open(path, ErrorCode::kBadModel));
  const std::string name = path == "-" ? "standard input" : path.string();
  const std::span<const std::byte> bytes = file->bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (looks_like_ncnn(text)) return read_ncnn(text, name, options.shapes);
  if (!options.shapes.empty())
    return make_error(ErrorCode::kInvalidArgument, name,
                      "only ncnn graphs take shapes of inputs; a .tflite has its own");
  if (looks_like_tflite(file->bytes())) return read_tflite(std::move(file), name);
  return make_error(ErrorCode::kBadModel, name, describe_foreign_file(file->bytes()));
}

}  // namespace edgesage
