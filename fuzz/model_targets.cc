#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/targets.h"
#include "src/analysis/liveness.h"
#include "src/analysis/row_costs.h"
#include "src/app/inspect.h"
#include "src/base/file.h"
#include "src/features/extract.h"
#include "src/graph/graph_hash.h"
#include "src/graph/input_shapes.h"
#include "src/graph/select_entry.h"
#include "src/graph/validate.h"
#include "src/io/custom_options.h"
#include "src/io/file_kind.h"
#include "src/io/ncnn_param.h"
#include "src/io/ncnn_reader.h"
#include "src/io/onnx/convert.h"
#include "src/io/onnx/read.h"
#include "src/io/onnx/shapes.h"
#include "src/io/tflite_reader.h"
#include "src/io/tflite_writer.h"
#include "src/lower/control_flow.h"

namespace edgesage::fuzz {
namespace {

// One of each kind of target.
constexpr std::array kTargetNames = {"ethos-u55-128", "ethos-u85-512", "litert-xnnpack", "generic"};

void check_indexes(const Graph& graph) {
  for (const Subgraph& subgraph : graph.subgraphs) {
    const auto is_tensor = [&](int32_t index, bool optional) {
      return (optional && index == kNoTensor) ||
             (index >= 0 && static_cast<size_t>(index) < subgraph.tensors.size());
    };
    for (const Operator& op : subgraph.operators)
      for (const auto* operands : {&op.inputs, &op.outputs, &op.intermediates})
        for (const int32_t index : *operands)
          must_hold(is_tensor(index, true), "operands are tensors");
    for (const auto* ends : {&subgraph.inputs, &subgraph.outputs})
      for (const int32_t index : *ends) must_hold(is_tensor(index, false), "ends are tensors");
    for (const Tensor& tensor : subgraph.tensors)
      if (tensor.is_constant())
        must_hold(static_cast<size_t>(tensor.buffer) < graph.buffers.size(),
                  "constants have a buffer");
  }
}

// Everything that inspect and predict do with a graph, but the network's arithmetic.
void use_graph(const Graph& graph) {
  check_indexes(graph);
  (void)validate(graph);
  (void)graph_hash(graph);
  for (const char* name : kTargetNames)
    must_hold(app::inspect_graph(graph, name).has_value(),
              "a graph that could be read can be described");
  if (graph.subgraphs.empty()) return;
  const Expansion expansion = expand_control_flow(graph);
  for (const char* name : kTargetNames) {
    const Lowering lowering = lower(expansion, *target_from_name(name));
    must_hold(lowering.operators.size() == expansion.graph.main().operators.size(),
              "every operator is placed");
    const auto costs = row_costs(expansion.graph, lowering);
    for (const RowCost& cost : costs)
      must_hold(cost.macs >= 0 && cost.ifm_bytes >= 0 && cost.weights_bytes >= 0,
                "costs are not negative");
    const Quantity quantities[] = {Quantity::kLatencyMs, Quantity::kSramBytes};
    const GraphTensors tensors = extract_features(expansion.graph, lowering,
                                                  liveness(expansion.graph, lowering), quantities);
    must_hold(static_cast<size_t>(tensors.nodes) == lowering.rows.size(), "every row is a node");
  }
}

// What the options of a command change.
void change_entry(Graph graph) {
  set_trip_counts(graph, 1000);
  for (const Signature& signature : std::vector(graph.signatures))
    must_hold(select_signature(graph, signature.key).has_value(), "signatures are found");
  if (const Status sized = set_input_shapes(graph, {{}, 3}); !sized)
    check_error(sized.error(), {ErrorCode::kInvalidArgument});
  warn_of_open_inputs(graph);
  use_graph(graph);
}

}  // namespace

void tflite(Bytes bytes) {
  auto graph = read_tflite(MappedFile::holding(bytes), "fuzzed");
  if (!graph) return check_error(graph.error(), {ErrorCode::kBadModel});
  change_entry(*graph);
  complete_custom_results(*graph);
  if (const Status fits = check_declared_shapes(*graph, "fuzzed"); !fits)
    check_error(fits.error(), {ErrorCode::kBadModel});
  use_graph(*graph);
  const auto written = write_tflite(*graph);
  if (!written) return;
  const auto again = read_tflite(MappedFile::holding(*written), "written");
  must_hold(again.has_value(), "what we write we can read");
  must_hold(graph_hash(*again) == graph_hash(*graph), "what we write is the same graph");
}

void ncnn(Bytes bytes) {
  const std::string_view text = text_of(bytes);
  const auto graph = read_ncnn(text, "fuzzed", {{"data", {3, 32, 32}}});
  if (!graph)
    return check_error(graph.error(), {ErrorCode::kBadModel, ErrorCode::kInvalidArgument});
  use_graph(*graph);
}

void onnx(Bytes bytes) {
  auto read = onnx::read_onnx(bytes, nullptr, "fuzzed");
  if (!read) return check_error(read.error(), {ErrorCode::kBadModel});
  const auto model = std::make_shared<const onnx::Model>(std::move(*read));
  onnx::ShapeOptions options;
  auto inferred = onnx::infer_types(*model, options);
  must_hold(inferred.has_value(), "inference never fails on what the file says");
  auto graph = onnx::graph_of_onnx(model, *inferred, "fuzzed");
  if (!graph) {
    check_error(graph.error(), {ErrorCode::kBadModel, ErrorCode::kInvalidArgument});
    // Once more with numbers for the dimensions that the file leaves open.
    for (const onnx::UnknownDimension& unknown : inferred->unknown_dimensions)
      if (!unknown.symbol.empty()) options.dimensions[std::string(unknown.symbol)] = 4;
    if (options.dimensions.empty()) return;
    inferred = onnx::infer_types(*model, options);
    if (!inferred) return check_error(inferred.error(), {ErrorCode::kInvalidArgument});
    graph = onnx::graph_of_onnx(model, *inferred, "fuzzed");
    if (!graph)
      return check_error(graph.error(), {ErrorCode::kBadModel, ErrorCode::kInvalidArgument});
  }
  change_entry(*graph);
}

void file_kind(Bytes bytes) {
  const std::string sentence = describe_foreign_file(bytes);
  must_hold(!sentence.empty() && sentence.find('\n') == std::string::npos,
            "a foreign file is named in one line");
  (void)looks_like_tflite(bytes);
  (void)looks_like_onnx(bytes);
  (void)looks_like_ncnn(text_of(bytes));
}

}  // namespace edgesage::fuzz
