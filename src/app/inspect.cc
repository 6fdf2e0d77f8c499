#include "src/app/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "src/analysis/liveness.h"
#include "src/analysis/row_costs.h"
#include "src/app/arena_plans.h"
#include "src/app/inspect_tables.h"
#include "src/graph/custom_ops.h"
#include "src/graph/op_registry.h"
#include "src/io/model_file.h"
#include "src/lower/control_flow.h"
#include "src/lower/rows.h"

namespace edgesage::app {
namespace {

void add_operators(const Graph& graph, const Liveness& alive, Inspection& out) {
  const std::vector<int64_t> macs = operator_macs(graph);
  for (size_t s = 0; s < graph.subgraphs.size(); ++s) {
    const Subgraph& subgraph = graph.subgraphs[s];
    for (size_t i = 0; i < subgraph.operators.size(); ++i) {
      InspectedOperator op =
          inspect_operator(graph, static_cast<int32_t>(s), static_cast<int32_t>(i));
      if (s == 0) {
        if (!is_opaque(subgraph.operators[i])) op.macs = macs[i];
        if (i < alive.live_bytes.size()) op.live_bytes = alive.live_bytes[i];
      }
      out.operators.push_back(std::move(op));
    }
  }
}

InspectedMemory describe_memory(const Subgraph& subgraph, const Liveness& alive) {
  InspectedMemory memory;
  // With nothing but tensors of unknown size, the peak is unknown as well, not 0.
  if (!alive.ranges.empty() || alive.unknown.empty()) memory.activations_bytes = alive.peak_bytes;
  memory.peak_operator = alive.peak_step;
  for (const LiveRange& range : alive.ranges)
    if (range.first <= alive.peak_step && alive.peak_step <= range.last && range.bytes > 0)
      memory.peak_tensors.push_back(inspect_tensor(subgraph, range.tensor));
  std::ranges::stable_sort(memory.peak_tensors, std::greater{}, &InspectedTensor::bytes);
  for (const int32_t tensor : alive.unknown)
    memory.unknown.push_back(inspect_tensor(subgraph, tensor));
  return memory;
}

// `graph` has its control flow in line where it has any; `origin` says which operator of the file
// each of its operators is charged to (empty: itself).
InspectedTarget describe_target(const Graph& graph, const Lowering& lowering,
                                const std::vector<int32_t>& origin, Inspection& out) {
  InspectedTarget target;
  target.name = lowering.target.name;
  target.partitions = lowering.partitions;
  target.warnings = lowering.warnings;
  const auto charged = [&origin](int32_t op) {
    return origin.empty() || op < 0 ? op : origin[static_cast<size_t>(op)];
  };
  for (size_t i = 0; i < lowering.operators.size(); ++i) {
    const OperatorPlacement& placement = lowering.operators[i];
    const std::string name(placement_name(placement.placement));
    // Of a loop, the operator itself comes last, behind what it runs.
    InspectedOperator& op = out.operators[static_cast<size_t>(charged(static_cast<int32_t>(i)))];
    op.placement = name;
    op.placement_reason = placement.reason;
  }
  for (const InspectedOperator& op : out.operators)
    if (op.subgraph == 0) ++target.placements[op.placement];
  const std::vector<RowCost> costs = row_costs(graph, lowering);
  for (size_t i = 0; i < lowering.rows.size(); ++i) {
    const Row& row = lowering.rows[i];
    InspectedRow& added = target.rows.emplace_back();
    added.op = charged(row.op);
    for (const int32_t fused : row.fused) added.fused.push_back(charged(fused));
    added.kind = row_kind_name(row.kind);
    added.placement = placement_name(row.placement);
    added.repeat = row.repeat;
    added.macs = costs[i].macs;
    added.ifm_bytes = costs[i].ifm_bytes;
    added.ofm_bytes = costs[i].ofm_bytes;
    added.weights_bytes = costs[i].weights_bytes;
  }
  target.activations_bytes = liveness(graph, lowering).peak_bytes;
  return target;
}

// What follows from the tables alone.
void describe_tables(const Graph& graph, Inspection& out) {
  out.format = graph.format;
  out.description = graph.description;
  out.dtype = dominant_type(graph);
  for (const Subgraph& subgraph : graph.subgraphs)
    out.subgraphs.push_back(inspect_subgraph(subgraph));
  out.operator_counts = count_operators(graph);
  out.types = count_types(graph);
  out.quantization = count_quantization(graph);
  for (const Signature& signature : graph.signatures) {
    InspectedSignature& entry = out.signatures.emplace_back();
    entry.key = signature.key;
    entry.subgraph = signature.subgraph;
    for (const auto& port : signature.inputs) entry.inputs.push_back(port.name);
    for (const auto& port : signature.outputs) entry.outputs.push_back(port.name);
  }
  for (const Metadata& metadata : graph.metadata)
    if (metadata.buffer != kNoBuffer)
      out.metadata[metadata.name] =
          static_cast<int64_t>(graph.buffers[static_cast<size_t>(metadata.buffer)].data.size());
}

Result<Inspection> inspect_model(const std::string& path, const InspectOptions& options) {
  EDGESAGE_ASSIGN_OR_RETURN(const Graph graph, read_model(path, options.read));
  EDGESAGE_ASSIGN_OR_RETURN(Inspection out,
                            inspect_graph(graph, options.target, options.abi, options.kernels));
  if (options.strict && !out.unsupported.empty())
    return make_error(ErrorCode::kUnsupported, path, out.unsupported.front());
  out.model = path;
  std::error_code ignored;
  if (const auto bytes = std::filesystem::file_size(path, ignored); !ignored)
    out.file_bytes = static_cast<int64_t>(bytes);
  return out;
}

}  // namespace

Result<Inspection> inspect_graph(const Graph& graph, const std::string& target, int32_t abi,
                                 const std::string& kernels) {
  EDGESAGE_ASSIGN_OR_RETURN(const TflmBuild build, tflm_build(abi, kernels));
  Inspection out;
  out.warnings = graph.warnings;
  describe_tables(graph, out);
  if (graph.subgraphs.empty()) {
    out.warnings.emplace_back("the model has no subgraphs: nothing is computed");
    out.memory.activations_bytes = 0;
    return out;
  }
  const GraphTotals totals = graph_totals(graph);
  out.macs = totals.macs;
  out.parameters = totals.parameters;
  out.weights_bytes = totals.weights_bytes;
  const Liveness alive = liveness(graph);
  out.memory = describe_memory(graph.main(), alive);
  out.memory.litert_arena = litert_arena_plan(graph);
  out.memory.tflm_arena = tflm_arena_plan(graph, build);
  EDGESAGE_ASSIGN_OR_RETURN(const Target xnnpack, target_from_name("litert-xnnpack"));
  out.memory.litert_xnnpack = litert_xnnpack_memory(graph, lower(graph, xnnpack));
  add_operators(graph, alive, out);
  collect_warnings(graph, out.warnings, out.unsupported);
  std::optional<Expansion> expansion;
  if (has_control_flow(graph)) {
    expansion = expand_control_flow(graph);
    for (auto [from, to] : {std::pair(&expansion->warnings, &out.warnings),
                            std::pair(&expansion->unsupported, &out.unsupported)})
      to->insert(to->end(), from->begin(), from->end());
  }
  if (!target.empty()) {
    EDGESAGE_ASSIGN_OR_RETURN(const Target known, target_from_name(target));
    out.target = expansion ? describe_target(expansion->graph, lower(*expansion, known),
                                             expansion->origin, out)
                           : describe_target(graph, lower(graph, known), {}, out);
  }
  return out;
}

Answers<Inspection> inspect(const InspectOptions& options) {
  Answers<Inspection> answers;
  for (const std::string& model : options.models)
    answers.push_back({model, "", inspect_model(model, options)});
  return answers;
}

}  // namespace edgesage::app

namespace edgesage {

Result<Inspection> inspect_file(const std::string& path, const std::string& target, int32_t abi,
                                const std::string& kernels) {
  return app::inspect_model(path, {.models = {},
                                   .target = target,
                                   .read = {},
                                   .strict = false,
                                   .abi = abi,
                                   .kernels = kernels});
}

}  // namespace edgesage
