#include "src/predict/predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "src/analysis/liveness.h"
#include "src/analysis/row_costs.h"
#include "src/base/parallel.h"
#include "src/features/extract.h"
#include "src/graph/op_registry.h"
#include "src/lower/control_flow.h"
#include "src/predict/tensors_to_batch.h"

namespace edgesage {
namespace {

// Outside the range of training the calibrated width no longer holds; errors there are commonly
// several times larger (leave-one-space-out: about three).
constexpr double kOutOfRangeWidening = 3.0;

// An interval that says nothing; wider ones would end in infinities.
constexpr double kWidestLog = 300.0;

std::string dominant_weight_type(const Graph& graph) {
  std::map<std::string_view, int64_t> bytes;
  for (const Tensor& tensor : graph.main().tensors)
    if (tensor.is_constant() && tensor.type != DataType::kInt32)
      bytes[type_name(tensor.type)] += tensor.byte_size().value_or(0);
  std::string_view best;
  int64_t most = 0;
  for (const auto& [name, count] : bytes) {
    if (count <= most) continue;
    most = count;
    best = name;
  }
  if (best.empty() && !graph.main().inputs.empty())
    best = type_name(graph.main().tensors[static_cast<size_t>(graph.main().inputs[0])].type);
  return std::string(best);
}

int64_t batch_of(const Graph& graph) {
  if (graph.main().inputs.empty()) return 1;
  const Tensor& input = graph.main().tensors[static_cast<size_t>(graph.main().inputs[0])];
  return input.shape.size() > 1 && input.shape[0] > 0 ? input.shape[0] : 1;
}

std::string operator_label(const Subgraph& subgraph, const Operator& op) {
  if (!op.name.empty()) return op.name;
  for (const int32_t output : op.outputs)
    if (output >= 0) return subgraph.tensors[static_cast<size_t>(output)].name;
  return {};
}

// What the compiler leaves to the CPU is in none of its figures, so it is in none of ours.
void add_fallbacks(const Lowering& lowering, Prediction& out) {
  if (!lowering.target.is_npu()) return;
  int64_t count = 0;
  std::string first;
  for (size_t i = 0; i < lowering.operators.size(); ++i) {
    if (lowering.operators[i].placement != Placement::kCpu) continue;
    if (count++ == 0) first = fmt::format("operator {} ({})", i, lowering.operators[i].reason);
  }
  if (count == 0) return;
  const std::string text = fmt::format(
      "{} of {} operators fall back to the CPU, first {}: the figures cover the NPU alone", count,
      lowering.operators.size(), first);
  out.warnings.push_back(text);
  out.in_range = false;
  out.reasons.push_back(text);
}

// First graph of each group, and the number of graphs. Groups are of about as many nodes as keep
// the products busy and the activations in the cache.
std::vector<size_t> group_graphs(std::span<const GraphTensors> graphs) {
  constexpr int64_t kNodes = 512;
  std::vector<size_t> begins{0};
  int64_t nodes = 0;
  for (size_t g = 0; g < graphs.size(); ++g) {
    if (nodes > 0 && nodes + graphs[g].nodes > kNodes) {
      begins.push_back(g);
      nodes = 0;
    }
    nodes += graphs[g].nodes;
  }
  if (!graphs.empty()) begins.push_back(graphs.size());
  return begins;
}

Interval interval_of(double value, double half_width_log, double level) {
  return {value, value * std::exp(-half_width_log), value * std::exp(half_width_log), level};
}

void add_operators(const Graph& graph, const Lowering& lowering, const RangeVerdict& verdict,
                   const std::vector<double>* latencies, const std::vector<double>* energies,
                   Prediction& out) {
  const Subgraph& main = graph.main();
  const std::vector<int64_t> macs = operator_macs(graph);
  for (size_t i = 0; i < main.operators.size(); ++i) {
    const OperatorPlacement& placed = lowering.operators[i];
    OperatorPrediction op;
    op.index = static_cast<int32_t>(i);
    op.kind = op_name(main.operators[i].kind);
    op.name = operator_label(main, main.operators[i]);
    op.macs = macs[i];
    op.placement = placement_name(placed.placement);
    op.placement_reason = placed.reason;
    op.known = !verdict.unknown_operator[i];
    const bool priced = !lowering.target.is_npu() || placed.placement != Placement::kCpu;
    if (latencies != nullptr && priced) op.latency_ms = (*latencies)[i];
    if (energies != nullptr && priced) op.energy_mj = (*energies)[i];
    out.operators.push_back(std::move(op));
  }
}

void add_known(std::optional<double>& sum, const std::optional<double>& part) {
  if (part) sum = sum.value_or(0) + *part;
}

// One entry an operator of the file, from those of the graph with its control flow in line.
void charge_to_origin(const Graph& graph, const std::vector<int32_t>& origin, Prediction& out) {
  const std::vector<int64_t> macs = operator_macs(graph);
  std::vector<OperatorPrediction> parts = std::move(out.operators);
  out.operators.assign(macs.size(), {});
  std::vector<uint8_t> seen(macs.size(), 0);
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto to = static_cast<size_t>(origin[i]);
    const OperatorPrediction sum = out.operators[to];
    const bool known = seen[to] == 0 || sum.known;
    seen[to] = 1;
    // The operator itself comes behind what it runs: name and placement are its own.
    OperatorPrediction& op = out.operators[to] = std::move(parts[i]);
    op.index = static_cast<int32_t>(to);
    op.macs = macs[to];
    op.known = op.known && known;
    add_known(op.latency_ms, sum.latency_ms);
    add_known(op.energy_mj, sum.energy_mj);
  }
}

}  // namespace

Result<Predictor> Predictor::from(PredictorData data, nn::Precision precision) {
  Predictor predictor;
  EDGESAGE_ASSIGN_OR_RETURN(predictor.target_, target_from_name(data.target));
  for (const PredictedQuantity& quantity : data.quantities) {
    EDGESAGE_ASSIGN_OR_RETURN(const Quantity known, quantity_from_name(quantity.name));
    if (nn::columns_of(static_cast<nn::ReadOut>(quantity.readout)) != prior_columns(known))
      return make_error(ErrorCode::kBadStore, quantity.name,
                        "the file sums it up in another way than this build");
    predictor.quantities_.push_back(known);
  }
  for (const std::vector<float>& parameters : data.members) {
    const auto unfit = [&] {
      return make_error(ErrorCode::kBadStore, data.device,
                        "the parameters do not fit the network that the file describes");
    };
    // Before anything of that size is made.
    const nn::ModelConfig config = model_config(data);
    if (!nn::validate(config) || config.columns() != config.quantity_count() ||
        nn::Layout(config).size != std::ssize(parameters))
      return unfit();
    auto model = nn::Model::create(config);
    if (!model || !model->set_parameters(parameters)) return unfit();
    model->set_precision(precision);
    predictor.members_.push_back(std::move(*model));
  }
  for (std::vector<float>& parameters : data.members) parameters = {};  // the models hold them
  predictor.data_ = std::move(data);
  return predictor;
}

Result<Predictor> Predictor::load(const std::filesystem::path& path, nn::Precision precision) {
  EDGESAGE_ASSIGN_OR_RETURN(PredictorData data, load_predictor(path));
  auto predictor = from(std::move(data), precision);
  if (!predictor)
    return make_error(ErrorCode::kBadStore, path.string(), predictor.error().to_string());
  return predictor;
}

const Estimate& Predictor::estimate(const GraphTensors& tensors,
                                    PredictWorkspace& workspace) const {
  workspace.batch.clear();
  append_tensors(tensors, data_, workspace.batch);
  EnsembleMean mean(members_.size(), quantities_.size(), static_cast<size_t>(tensors.operators),
                    workspace.estimate, workspace.squares);
  for (const nn::Model& model : members_) {
    const nn::Outputs& answer = model.predict(workspace.batch, workspace.network);
    mean.add(answer.totals.data(), answer.overhead.data(), answer.op_costs.data());
  }
  mean.finish();
  return workspace.estimate;
}

Estimate Predictor::estimate(const GraphTensors& tensors) const {
  PredictWorkspace workspace;
  estimate(tensors, workspace);
  return std::move(workspace.estimate);
}

std::vector<Estimate> Predictor::estimate_batch(std::span<const GraphTensors> graphs,
                                                int threads) const {
  const std::vector<size_t> begins = group_graphs(graphs);
  const auto groups = static_cast<int64_t>(begins.size()) - 1;
  if (threads <= 0) threads = hardware_threads();
  threads = static_cast<int>(std::clamp<int64_t>(threads, 1, std::max<int64_t>(groups, 1)));
  std::vector<Estimate> answers(graphs.size());
  parallel_for(threads, threads, [&](int64_t thread) {
    PredictWorkspace workspace;
    for (int64_t group = thread; group < groups; group += threads) {
      const size_t begin = begins[static_cast<size_t>(group)];
      const size_t count = begins[static_cast<size_t>(group) + 1] - begin;
      estimate_group(graphs.subspan(begin, count), workspace,
                     std::span(answers).subspan(begin, count));
    }
  });
  return answers;
}

void Predictor::estimate_group(std::span<const GraphTensors> graphs, PredictWorkspace& workspace,
                               std::span<Estimate> answers) const {
  const size_t quantities = quantities_.size();
  nn::Batch& batch = workspace.batch;
  batch.clear();
  for (const GraphTensors& tensors : graphs) append_tensors(tensors, data_, batch);
  std::vector<std::vector<double>> squares(graphs.size());
  std::vector<EnsembleMean> means;
  means.reserve(graphs.size());
  for (size_t g = 0; g < graphs.size(); ++g)
    means.emplace_back(members_.size(), quantities, static_cast<size_t>(graphs[g].operators),
                       answers[g], squares[g]);
  for (const nn::Model& model : members_) {
    const nn::Outputs& answer = model.predict(batch, workspace.network);
    for (size_t g = 0; g < graphs.size(); ++g)
      means[g].add(
          answer.totals.data() + g * quantities, answer.overhead.data() + g * quantities,
          answer.op_costs.data() + static_cast<size_t>(batch.op_graph_offset[g]) * quantities);
  }
  for (EnsembleMean& mean : means) mean.finish();
}

double Predictor::half_width(size_t quantity, double level, float spread,
                             const RangeVerdict& verdict) const {
  const PredictedQuantity& q = data_.quantities[quantity];
  double width = q.widths.empty() ? 0.0 : static_cast<double>(q.widths.back());
  for (size_t i = 0; i < std::min(q.levels.size(), q.widths.size()); ++i) {
    if (static_cast<double>(q.levels[i]) >= level - 1e-6) {
      width = static_cast<double>(q.widths[i]);
      break;
    }
  }
  const double scale = quantity < verdict.error_scale.size() ? verdict.error_scale[quantity] : 1.0;
  const double half = width * scale * static_cast<double>(spread + q.base_spread) *
                      (verdict.in_range ? 1 : kOutOfRangeWidening);
  return half <= kWidestLog ? half : kWidestLog;  // also where half is no number
}

Prediction Predictor::predict(const Graph& graph, const std::string& model,
                              const PredictOptions& options) const {
  PredictWorkspace workspace;
  return predict(graph, model, options, workspace);
}

Prediction Predictor::predict(const Graph& graph, const std::string& model,
                              const PredictOptions& options, PredictWorkspace& workspace) const {
  Prediction out;
  out.model = model;
  out.device = data_.device;
  out.predictor_id = data_.id;
  out.runtime = data_.runtime;
  out.runtime_version = data_.runtime_version;
  if (data_.threads > 0) out.threads = data_.threads;
  out.latency_statistic = data_.statistic;
  out.warnings = graph.warnings;
  const bool other_host = !data_.host_fingerprint.empty() && !options.host_fingerprint.empty() &&
                          data_.host_fingerprint != options.host_fingerprint;
  if (other_host) {
    out.warnings.push_back(fmt::format(
        "learnt on another computer ({}): measure and train here for figures of this one",
        data_.host_description.empty() ? data_.host_fingerprint : data_.host_description));
    out.reasons.push_back("this is not the computer of the training");
  }
  out.missing["energy_mj"] = "this predictor has not learnt energy";

  if (graph.subgraphs.empty() || graph.main().operators.empty()) {
    out.in_range = false;
    out.reasons.push_back("the model has no operators");
    out.missing["latency_ms"] = out.missing["peak_ram_bytes"] = "the model has no operators";
    return out;
  }
  out.dtype = dominant_weight_type(graph);
  out.batch = batch_of(graph);
  // Bodies of control flow are priced in line, and charged to the operator that runs them.
  std::optional<Expansion> expansion;
  if (has_control_flow(graph)) {
    expansion = expand_control_flow(graph);
    out.warnings.insert(out.warnings.end(), expansion->warnings.begin(), expansion->warnings.end());
  }
  const Graph& priced = expansion ? expansion->graph : graph;
  const Lowering lowering = expansion ? lower(*expansion, target_) : lower(graph, target_);
  const Liveness live = liveness(priced, lowering);
  const GraphTensors tensors =
      extract_features(priced, lowering, live, quantities_, workspace.blocks);
  const GraphTotals totals = graph_totals(graph);
  out.macs = totals.macs;
  out.weights_bytes = totals.weights_bytes;
  out.activations_bytes = live.peak_bytes;
  out.warnings.insert(out.warnings.end(), lowering.warnings.begin(), lowering.warnings.end());

  const Estimate& answer = estimate(tensors, workspace);
  RangeVerdict verdict =
      judge_range(data_.range, operator_signatures(priced), tensors, answer.spread);
  verdict.in_range = verdict.in_range && !other_host;
  out.in_range = verdict.in_range;
  out.reasons.insert(out.reasons.end(), verdict.reasons.begin(), verdict.reasons.end());
  add_fallbacks(lowering, out);
  verdict.in_range = out.in_range;
  const bool runs_on_device = std::any_of(
      lowering.rows.begin(), lowering.rows.end(),
      [&](const Row& row) { return !target_.is_npu() || row.placement == Placement::kNpu; });
  const std::vector<double>*latencies = nullptr, *energies = nullptr;
  for (size_t q = 0; q < quantities_.size(); ++q) {
    const double half = half_width(q, options.level, answer.spread[q], verdict);
    const Quantity quantity = quantities_[q];
    const std::string key(is_maximum(quantity) ? "peak_ram_bytes" : quantity_name(quantity));
    if (!runs_on_device) {
      out.missing[key] = "nothing of it runs on the device";
      continue;
    }
    if (!std::isfinite(answer.value[q])) {
      out.missing[key] = "the network's answer is no number; train the predictor again";
      continue;
    }
    const Interval interval = interval_of(answer.value[q], half, options.level);
    switch (quantity) {
      case Quantity::kLatencyMs:
        out.latency_ms = interval;
        out.overhead_ms = answer.overhead[q];
        latencies = &answer.operators[q];
        break;
      case Quantity::kSramBytes:
        out.peak_ram_bytes = interval;
        break;
      case Quantity::kDramBytes:
        out.dram_bytes = interval;
        break;
      case Quantity::kEnergyMj:
        out.energy_mj = interval;
        out.missing.erase("energy_mj");
        out.overhead_mj = answer.overhead[q];
        out.energy_table = data_.energy_table;
        out.energy_table_hash = data_.energy_table_hash;
        energies = &answer.operators[q];
        break;
    }
  }
  if (!out.peak_ram_bytes && !out.missing.contains("peak_ram_bytes"))
    out.missing["peak_ram_bytes"] =
        "this predictor has not learnt memory; activations_bytes is planned";
  add_operators(priced, lowering, verdict, latencies, energies, out);
  if (expansion) charge_to_origin(graph, expansion->origin, out);
  return out;
}

}  // namespace edgesage
