#include "src/app/measure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "src/analysis/row_costs.h"
#include "src/app/temporary_file.h"
#include "src/app/worker_options.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "src/devices/energy.h"
#include "src/devices/measure.h"
#include "src/devices/measure_energy.h"
#include "src/devices/noise.h"
#include "src/graph/graph_hash.h"
#include "src/graph/op_registry.h"
#include "src/io/model_file.h"
#include "src/store/store.h"

namespace edgesage::app {
namespace {

std::optional<TimingSeries> summarize_series(const Measurement& measurement) {
  if (measurement.samples_ms.empty()) return std::nullopt;
  const SeriesVerdict verdict = judge_series(measurement.samples_ms, measurement.statistic);
  const SeriesSummary& summary = verdict.summary;
  TimingSeries series;
  series.min_ms = summary.min;
  series.p10_ms = summary.p10;
  series.p50_ms = summary.p50;
  series.p90_ms = summary.p90;
  series.runs = summary.count;
  series.spread = summary.p50 > 0 ? (summary.p90 - summary.p10) / summary.p50 : 0;
  series.stationary = measurement.stationary;
  series.reason = summary.reason;
  series.half_width = verdict.half_width;
  return series;
}

// What the device does not measure itself is modelled from what it counted.
void add_energy(MeasuredModel& model, const EnergyTable& table) {
  if (model.quantities.contains(kEnergyQuantity)) return;
  if (const Result<double> energy = energy_mj(table, model.quantities)) {
    model.quantities[kEnergyQuantity] = *energy;
    model.energy_table = table.name;
    model.missing.erase(kEnergyQuantity);
  } else {
    std::string reason = energy.error().message;
    for (const std::string& needed : table.required)
      if (const auto why = model.missing.find(needed); why != model.missing.end())
        reason = why->second;
    model.missing[kEnergyQuantity] = std::move(reason);
  }
}

MeasuredModel to_public(const std::string& model, const Graph& graph, const Measurement& from) {
  MeasuredModel out;
  out.model = model;
  out.device = base_name(from.device);
  if (out.device != from.device) out.variant = from.device;
  out.rejected = rejection_of(from);
  out.stationary = from.stationary;
  out.runtime = from.runtime;
  out.runtime_version = from.runtime_version;
  out.host_fingerprint = from.host_fingerprint;
  out.statistic = from.statistic;
  out.quantities = from.quantities;
  out.missing = from.missing;
  out.series = summarize_series(from);
  out.samples_ms = from.samples_ms;
  out.cpu_operators = from.cpu_operators;
  out.operator_unit = from.operator_unit;
  const auto& operators = graph.main().operators;
  for (const OperatorMeasurement& op : from.operators) {
    const auto index = static_cast<size_t>(op.index);
    const bool known = op.index >= 0 && index < operators.size();
    // A delegate numbers its kernels behind the operators of the model.
    if (!known && from.operator_unit == "ns") continue;
    out.operators.push_back({op.index, known ? std::string(op_name(operators[index].kind)) : "",
                             op.cycles, op.macs, op.placement, op.placement_reason});
  }
  out.protocol = from.protocol;
  out.environment = from.environment;
  return out;
}

// What the measurement's network is called in a store, and its bytes, so that it can be trained on.
Result<int64_t> store_network(Store& store, const std::string& model, const Graph& graph,
                              const std::filesystem::path& file) {
  EDGESAGE_ASSIGN_OR_RETURN(const auto mapped, MappedFile::open(file, ErrorCode::kBadModel));
  NetworkRecord network;
  network.name = model == "-" ? "stdin" : std::filesystem::path(model).filename().string();
  network.graph_hash = graph_hash(graph);
  network.weights_hash = weights_hash(graph);
  network.file_name = network.name;
  network.file_bytes = static_cast<int64_t>(mapped->bytes().size());
  network.macs = graph_totals(graph).macs;
  EDGESAGE_ASSIGN_OR_RETURN(const int64_t id, store.add_network(network));
  EDGESAGE_RETURN_IF_ERROR(store.add_file(id, mapped->bytes()));
  return id;
}

// The shapes that were asked for as options of the worker.
Status add_shapes(const ReadOptions& read, const DeviceDescription& device, Json& options) {
  if (read.shapes.empty() && read.dimensions.empty() && read.batch == 0) return {};
  if (std::ranges::find(device.identity, "shapes") == device.identity.end())
    return make_error(ErrorCode::kInvalidArgument, device.name,
                      "runs models in the shapes of their files: --shape, -f and --batch are for "
                      "devices that take them (host-onnxruntime)");
  std::vector<std::string> shapes, dimensions;
  for (const auto& [name, shape] : read.shapes)
    shapes.push_back(fmt::format("{}:{}", name, fmt::join(shape, "x")));
  for (const auto& [name, size] : read.dimensions)
    dimensions.push_back(fmt::format("{}:{}", name, size));
  if (!shapes.empty()) options["shapes"] = join(shapes, ",");
  if (!dimensions.empty()) options["dimensions"] = join(dimensions, ",");
  if (read.batch > 0) options["batch"] = read.batch;
  return {};
}

class Campaign {
 public:
  Campaign(const Context& context, const MeasureRequest& request, DeviceDescription device,
           WorkerClient worker, MeasureOptions options, std::optional<Store> store,
           std::optional<EnergyTable> energy)
      : context_(context),
        request_(request),
        device_(std::move(device)),
        worker_(std::move(worker)),
        options_(std::move(options)),
        store_(std::move(store)),
        energy_(std::move(energy)) {}

  Result<Answers<MeasuredModel>> run() {
    Answers<MeasuredModel> answers;
    const auto total = static_cast<int64_t>(request_.models.size()) * request_.repeats;
    for (const std::string& model : request_.models) {
      EDGESAGE_RETURN_IF_ERROR(run_model(model, total, answers));
      if (context_.stop_wanted()) break;
    }
    context_.report(static_cast<int64_t>(answers.size()), total, "");
    return answers;
  }

 private:
  Result<Graph> read_for(const std::filesystem::path& file, const std::string& model) const {
    EDGESAGE_ASSIGN_OR_RETURN(Graph graph, read_model(file, request_.read));
    EDGESAGE_RETURN_IF_ERROR(check_format(device_, graph.format, model));
    if (graph.subgraphs.empty())
      return make_error(ErrorCode::kDeviceFailed, model,
                        "the model has no subgraphs: there is nothing to run");
    return graph;
  }

  // An error ends the campaign; what concerns this model alone becomes its answer.
  Status run_model(const std::string& model, int64_t total, Answers<MeasuredModel>& answers) {
    std::optional<TemporaryFile> copy;
    std::filesystem::path file = model;
    if (model == "-") {
      EDGESAGE_ASSIGN_OR_RETURN(copy, TemporaryFile::of_standard_input(".tflite"));
      file = copy->path();
    }
    const Result<Graph> graph = read_for(file, model);
    if (!graph) {
      Error error = graph.error();
      answers.push_back({model, base_name(device_.name), tl::unexpected(std::move(error))});
      return {};
    }
    std::optional<int64_t> network;
    if (store_) {
      EDGESAGE_ASSIGN_OR_RETURN(network, store_network(*store_, model, *graph, file));
    }
    MeasureOptions options = options_;
    options.graph = &*graph;
    for (int32_t repeat = 0; repeat < request_.repeats && !context_.stop_wanted(); ++repeat) {
      context_.report(static_cast<int64_t>(answers.size()), total, model);
      EDGESAGE_ASSIGN_OR_RETURN(Measurement measurement, measure(worker_, device_, file, options));
      if (request_.measure_energy)
        measure_energy(worker_, device_, file, options, {.sysfs = request_.sensor_root},
                       measurement);
      std::optional<int64_t> id;
      if (store_) {
        EDGESAGE_ASSIGN_OR_RETURN(id, store_->add_measurement(*network, measurement));
      }
      if (!measurement.error.empty()) {
        answers.push_back({model, base_name(device_.name),
                           make_error(ErrorCode::kDeviceFailed, model, measurement.error)});
        return {};
      }
      answers.push_back({model, base_name(device_.name), to_public(model, *graph, measurement)});
      answers.back().result->stored_as = id;
      if (energy_ && !request_.measure_energy) add_energy(*answers.back().result, *energy_);
    }
    return {};
  }

  const Context& context_;
  const MeasureRequest& request_;
  DeviceDescription device_;
  WorkerClient worker_;
  MeasureOptions options_;
  std::optional<Store> store_;
  std::optional<EnergyTable> energy_;
};

}  // namespace

Result<Answers<MeasuredModel>> measure_models(const Context& context,
                                              const MeasureRequest& request) {
  EDGESAGE_ASSIGN_OR_RETURN(const DeviceCatalog catalog, load_devices(context));
  EDGESAGE_ASSIGN_OR_RETURN(const DeviceDescription described, catalog.find(request.device));
  Json worker = worker_options(request.options);
  EDGESAGE_RETURN_IF_ERROR(add_shapes(request.read, described, worker));
  EDGESAGE_ASSIGN_OR_RETURN(DeviceDescription device, device_variant(described, worker));
  EDGESAGE_ASSIGN_OR_RETURN(std::optional<EnergyTable> energy,
                            energy_table_of(device, context.places, request.energy_table));
  MeasureOptions options;
  options.deadline = request.deadline;
  options.attempts = request.attempts;
  EDGESAGE_ASSIGN_OR_RETURN(WorkerClient client, WorkerClient::for_device(device, context.places));
  std::optional<Store> store;
  if (!request.store.empty()) {
    EDGESAGE_ASSIGN_OR_RETURN(store, Store::open(request.store, StoreMode::kWrite));
  }
  return Campaign(context, request, std::move(device), std::move(client), std::move(options),
                  std::move(store), std::move(energy))
      .run();
}

}  // namespace edgesage::app
