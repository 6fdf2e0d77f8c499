#include "src/app/strip.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "src/analysis/weight_stats.h"
#include "src/app/predictors.h"
#include "src/app/strip_onnx.h"
#include "src/app/temporary_file.h"
#include "src/base/file.h"
#include "src/base/rng.h"
#include "src/graph/graph_hash.h"
#include "src/graph/op_registry.h"
#include "src/io/model_file.h"
#include "src/io/tflite_writer.h"
#include "src/predict/predictor.h"

namespace edgesage::app {
namespace {

constexpr int64_t kMostKept = 4;  // elements: steps, scales, limits of loops

bool has_bias(OpKind kind) {
  return kind == OpKind::kConv2D || kind == OpKind::kDepthwiseConv2D ||
         kind == OpKind::kFullyConnected;
}

enum class Treatment { kKeep, kZero, kShuffle };

Treatment treatment_of(const Tensor& tensor, bool is_bias) {
  if (tensor.element_count() <= kMostKept || tensor.sparsity) return Treatment::kKeep;
  switch (tensor.type) {
    case DataType::kInt8:
    case DataType::kUInt8:
      return Treatment::kShuffle;
    case DataType::kFloat32:
    case DataType::kFloat16:
    case DataType::kBFloat16:
    case DataType::kInt16:
      return Treatment::kZero;
    case DataType::kInt32:
      return is_bias ? Treatment::kZero : Treatment::kKeep;
    default:
      return Treatment::kKeep;
  }
}

std::vector<std::byte> shuffled(std::span<const std::byte> bytes, const Tensor& tensor, Rng& rng) {
  const std::vector<int64_t>& zeros = tensor.quantization.zero_point;
  const auto zero = static_cast<uint8_t>(zeros.empty() ? 0 : zeros.front());
  std::vector<std::byte> out(bytes.size(), std::byte{zero});
  std::vector<size_t> places(std::min(bytes.size(), kWeightSample));
  for (size_t i = 0; i < places.size(); ++i) places[i] = weight_sample_index(i, bytes.size());
  std::vector<std::byte> values;
  for (const size_t place : places) values.push_back(bytes[place]);
  rng.shuffle(values);
  for (size_t i = 0; i < places.size(); ++i) out[places[i]] = values[i];
  return out;
}

// Buffers whose values must stay: what one use of them needs, all uses have.
std::set<int32_t> needed_buffers(const Graph& graph, std::set<int32_t>& biases) {
  std::set<int32_t> needed;
  for (const Subgraph& subgraph : graph.subgraphs)
    for (const Operator& op : subgraph.operators)
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        if (op.inputs[i] < 0) continue;
        const Tensor& tensor = subgraph.tensors[static_cast<size_t>(op.inputs[i])];
        if (!tensor.is_constant()) continue;
        if (defines_shape(op.kind, i) || op.kind == OpKind::kPrelu) needed.insert(tensor.buffer);
        if (has_bias(op.kind) && i == 2) biases.insert(tensor.buffer);
      }
  return needed;
}

void forget_names(Graph& graph) {
  graph.description.clear();
  graph.metadata.clear();
  for (Subgraph& subgraph : graph.subgraphs) subgraph.name.clear();
}

Status compare_predictions(const Context& context, const Graph& before, const Graph& after,
                           Stripped& out) {
  EDGESAGE_ASSIGN_OR_RETURN(const DeviceCatalog catalog, load_devices(context));
  for (const DeviceDescription& device : catalog.devices()) {
    const Result<std::filesystem::path> file = find_predictor(context, device.name);
    if (!file) continue;
    EDGESAGE_ASSIGN_OR_RETURN(const Predictor predictor, Predictor::load(*file));
    const Prediction a = predictor.predict(before, out.model, {});
    const Prediction b = predictor.predict(after, out.file, {});
    const auto value = [](const std::optional<Interval>& interval) {
      return interval ? std::optional(interval->value) : std::nullopt;
    };
    if (value(a.latency_ms) == value(b.latency_ms) &&
        value(a.peak_ram_bytes) == value(b.peak_ram_bytes))
      out.same.push_back(device.name);
    else
      out.differ.push_back(fmt::format("{}: {} ms, before {} ms", device.name,
                                       value(b.latency_ms).value_or(0),
                                       value(a.latency_ms).value_or(0)));
  }
  return {};
}

Result<Graph> graph_of_onnx(std::span<const std::byte> bytes) {
  EDGESAGE_ASSIGN_OR_RETURN(const TemporaryFile file, TemporaryFile::make(".onnx"));
  EDGESAGE_RETURN_IF_ERROR(write_file(file.path(), bytes));
  return read_model(file.path());
}

Result<std::vector<std::byte>> onnx_copy(std::span<const std::byte> file,
                                         const StripRequest& request, Stripped& out) {
  EDGESAGE_ASSIGN_OR_RETURN(StrippedOnnx copy,
                            strip_onnx(file, request.model, request.seed, graph_of_onnx));
  out.constants = copy.constants;
  out.kept = copy.kept;
  return std::move(copy.bytes);
}

Result<std::vector<std::byte>> tflite_copy(const Graph& before, const StripRequest& request,
                                           Stripped& out) {
  Graph graph = before;
  out.constants = strip_weights(graph, request.seed);
  std::set<int32_t> constants;
  for (const Subgraph& subgraph : graph.subgraphs)
    for (const Tensor& tensor : subgraph.tensors)
      if (tensor.is_constant()) constants.insert(tensor.buffer);
  out.kept = std::ssize(constants) - out.constants;
  if (!request.keep_names) forget_names(graph);
  return write_tflite(graph, {.keep_names = request.keep_names});
}

}  // namespace

int64_t strip_weights(Graph& graph, uint64_t seed) {
  std::set<int32_t> biases;
  const std::set<int32_t> needed = needed_buffers(graph, biases);
  std::set<int32_t> done;
  Rng rng(seed, "weights of " + graph_hash(graph));
  for (Subgraph& subgraph : graph.subgraphs)
    for (const Tensor& tensor : subgraph.tensors) {
      if (!tensor.is_constant() || needed.contains(tensor.buffer)) continue;
      const std::span<const std::byte> bytes = graph.constant(tensor);
      const Treatment treatment = treatment_of(tensor, biases.contains(tensor.buffer));
      if (bytes.empty() || treatment == Treatment::kKeep || !done.insert(tensor.buffer).second)
        continue;
      graph.buffers[static_cast<size_t>(tensor.buffer)] =
          make_buffer(treatment == Treatment::kShuffle ? shuffled(bytes, tensor, rng)
                                                       : std::vector<std::byte>(bytes.size()));
    }
  return static_cast<int64_t>(done.size());
}

Result<Stripped> strip(const Context& context, const StripRequest& request) {
  const bool to_onnx = request.output.extension() == ".onnx";
  std::shared_ptr<const MappedFile> file;
  if (to_onnx) {
    EDGESAGE_ASSIGN_OR_RETURN(file, MappedFile::open(request.model, ErrorCode::kBadModel));
  }
  // Standard input can be read once.
  EDGESAGE_ASSIGN_OR_RETURN(const Graph before, to_onnx&& request.model == "-"
                                                    ? graph_of_onnx(file->bytes())
                                                    : read_model(request.model));
  if (before.format == "ncnn")
    return make_error(ErrorCode::kInvalidArgument, request.model,
                      "has no weights in it: share it as it is");
  if (to_onnx && before.format != "onnx")
    return make_error(ErrorCode::kInvalidArgument, request.output.string(),
                      "the copy of a .tflite is a .tflite; name it so");
  Stripped out{.model = request.model, .file = request.output.string()};
  EDGESAGE_ASSIGN_OR_RETURN(
      const std::vector<std::byte> bytes,
      to_onnx ? onnx_copy(file->bytes(), request, out) : tflite_copy(before, request, out));
  EDGESAGE_RETURN_IF_ERROR(write_file(request.output, bytes));
  out.file_bytes = std::ssize(bytes);
  // What was written, not what was meant.
  EDGESAGE_ASSIGN_OR_RETURN(const Graph after, read_model(request.output));
  out.graph_hash = graph_hash(after);
  if (const std::string original = graph_hash(before); original != out.graph_hash)
    out.differ.push_back(fmt::format("the graph: {}, before {}", out.graph_hash, original));
  EDGESAGE_RETURN_IF_ERROR(compare_predictions(context, before, after, out));
  return out;
}

}  // namespace edgesage::app
