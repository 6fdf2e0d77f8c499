#include "src/io/model_file.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "src/base/file.h"
#include "src/graph/input_shapes.h"
#include "src/graph/select_entry.h"
#include "src/io/custom_options.h"
#include "src/io/file_kind.h"
#include "src/io/ncnn_param.h"
#include "src/io/ncnn_reader.h"
#include "src/io/onnx/convert.h"
#include "src/io/onnx/read.h"
#include "src/io/onnx/shapes.h"
#include "src/io/tflite_reader.h"

namespace edgesage {
namespace {

// What the options ask of a graph, whatever its format. `shapes` are those that the reader of the
// format has not used itself.
Status apply(const ReadOptions& options, const std::map<std::string, Shape>& shapes, Graph& graph) {
  if (!options.signature.empty())
    EDGESAGE_RETURN_IF_ERROR(select_signature(graph, options.signature));
  else
    warn_of_entries(graph);
  EDGESAGE_RETURN_IF_ERROR(set_input_shapes(graph, {shapes, options.batch}));
  warn_of_open_inputs(graph);
  if (options.trip_count > 0) set_trip_counts(graph, options.trip_count);
  return {};
}

Status within(const std::string& name, Status status) {
  if (!status) status.error().where = name + ", " + status.error().where;
  return status;
}

Result<Graph> read_onnx_graph(const OpenFile& open, std::shared_ptr<const MappedFile> file,
                              const std::string& name, const std::filesystem::path& path,
                              const ReadOptions& options) {
  onnx::ReadOptions how;
  if (path != "-") how.model_path = path;
  EDGESAGE_ASSIGN_OR_RETURN(onnx::Model read, onnx::read_onnx(std::move(file), name, how, &open));
  const auto model = std::make_shared<const onnx::Model>(std::move(read));
  onnx::ShapeOptions shapes;
  shapes.inputs = options.shapes;
  shapes.dimensions = options.dimensions;
  if (options.batch > 0) shapes.batch = options.batch;
  Result<onnx::Inferred> inferred = onnx::infer_types(*model, shapes);
  if (!inferred)
    return make_error(inferred.error().code, name, std::move(inferred.error()).to_string());
  EDGESAGE_ASSIGN_OR_RETURN(Graph graph, onnx::graph_of_onnx(model, *inferred, name));
  ReadOptions rest;
  rest.signature = options.signature;
  rest.trip_count = options.trip_count;
  EDGESAGE_RETURN_IF_ERROR(within(name, apply(rest, {}, graph)));
  return graph;
}

}  // namespace

Result<Graph> read_model(const std::filesystem::path& path, const ReadOptions& options) {
  EDGESAGE_ASSIGN_OR_RETURN(const OpenFile open, OpenFile::open(path, ErrorCode::kBadModel));
  EDGESAGE_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, open.map());
  const std::string name = path == "-" ? "standard input" : path.string();
  const std::span<const std::byte> bytes = file->bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  // Protobuf has no magic number, so that others are asked first.
  const bool tflite = looks_like_tflite(bytes), ncnn = looks_like_ncnn(text);
  if (!tflite && !ncnn && looks_like_onnx(bytes))
    return read_onnx_graph(open, std::move(file), name, path, options);
  if (!options.dimensions.empty())
    return make_error(ErrorCode::kInvalidArgument, name,
                      "only ONNX models have named dimensions to be given (-f)");
  if (ncnn) {
    EDGESAGE_ASSIGN_OR_RETURN(Graph graph, read_ncnn(text, name, options.shapes));
    EDGESAGE_RETURN_IF_ERROR(within(name, apply(options, {}, graph)));
    return graph;
  }
  if (tflite) {
    EDGESAGE_ASSIGN_OR_RETURN(Graph graph, read_tflite(std::move(file), name));
    complete_custom_results(graph);
    EDGESAGE_RETURN_IF_ERROR(check_declared_shapes(graph, name));
    EDGESAGE_RETURN_IF_ERROR(within(name, apply(options, options.shapes, graph)));
    return graph;
  }
  return make_error(ErrorCode::kBadModel, name, describe_foreign_file(file->bytes()));
}

}  // namespace edgesage
