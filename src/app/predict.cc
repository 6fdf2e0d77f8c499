#include "src/app/predict.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/app/arena_plans.h"
#include "src/app/inspect_tables.h"
#include "src/app/predictors.h"
#include "src/devices/worker_client.h"
#include "src/io/model_file.h"
#include "src/lower/control_flow.h"
#include "src/predict/predictor.h"

namespace edgesage::app {
namespace {

struct Loaded {
  Predictor predictor;
  PredictOptions options;
  std::string warning;  // about all its predictions; empty: none
};

// Labels of a host belong to that machine. Its worker knows this one's fingerprint.
void recognise_host(const Context& context, Loaded& loaded) {
  const PredictorData& data = loaded.predictor.data();
  if (data.host_fingerprint.empty()) return;
  const auto fingerprint = [&]() -> Result<std::string> {
    EDGESAGE_ASSIGN_OR_RETURN(const DeviceCatalog catalog, load_devices(context));
    EDGESAGE_ASSIGN_OR_RETURN(const DeviceDescription device, catalog.find(data.device));
    EDGESAGE_ASSIGN_OR_RETURN(WorkerClient worker,
                              WorkerClient::for_device(device, context.places));
    EDGESAGE_ASSIGN_OR_RETURN(const WorkerHello hello, worker.hello());
    return hello.host_fingerprint;
  }();
  if (fingerprint)
    loaded.options.host_fingerprint = *fingerprint;
  else
    loaded.warning =
        fmt::format("learnt on {} (host {}); whether this is that machine is not known: {}",
                    data.host_description.empty() ? "a machine" : data.host_description,
                    data.host_fingerprint, fingerprint.error().message);
}

Status load_one(const Context& context, const PredictRequest& request,
                const std::filesystem::path& file, std::vector<Loaded>& loaded) {
  EDGESAGE_ASSIGN_OR_RETURN(
      Predictor predictor,
      Predictor::load(file, request.bfloat16 ? nn::Precision::kBfloat16 : nn::Precision::kFloat32));
  loaded.push_back({std::move(predictor), {}, ""});
  loaded.back().options.level = request.level;
  recognise_host(context, loaded.back());
  return {};
}

Result<std::vector<Loaded>> load_predictors(const Context& context, const PredictRequest& request) {
  if (request.predictors.empty() && request.devices.empty())
    return make_error(ErrorCode::kInvalidArgument, "",
                      "name a device (--device) or a predictor file (--predictor)");
  std::vector<Loaded> loaded;
  for (const std::string& file : request.predictors)
    EDGESAGE_RETURN_IF_ERROR(load_one(context, request, file, loaded));
  const size_t named = loaded.size();
  for (const std::string& device : request.devices) {
    // A file that is named serves its device in place of the installed one.
    const auto serves = [&](const Loaded& one) { return one.predictor.data().device == device; };
    if (std::any_of(loaded.begin(), loaded.begin() + static_cast<std::ptrdiff_t>(named), serves))
      continue;
    EDGESAGE_ASSIGN_OR_RETURN(const DeviceCatalog catalog, load_devices(context));
    const Result<std::filesystem::path> file = find_predictor(context, device);
    if (!file) {
      // A device that does not exist at all is answered with the closest name.
      EDGESAGE_ASSIGN_OR_RETURN(const DeviceDescription known, catalog.find(device));
      return tl::unexpected(file.error());
    }
    EDGESAGE_RETURN_IF_ERROR(load_one(context, request, *file, loaded));
  }
  return loaded;
}

// The memory of LiteRT with XNNPACK follows from the network; no labels are needed.
void add_litert_memory(const Graph& graph, const PredictorData& data, double level,
                       Prediction& prediction) {
  const Result<Target> target = target_from_name(data.target);
  if (prediction.peak_ram_bytes || !target || target->kind != TargetKind::kLitertXnnpack) return;
  prediction.litert_xnnpack = litert_xnnpack_memory(graph, lower(graph, *target));
  const auto& total = prediction.litert_xnnpack.total_bytes;
  if (!total) return;
  const double half = litert_xnnpack_half_width(level);
  const auto value = static_cast<double>(*total);
  prediction.peak_ram_bytes = Interval{value, value * (1 - half), value * (1 + half), level};
  prediction.missing.erase("peak_ram_bytes");
}

// What runtimes' planners make of a model, whatever the device.
struct Arenas {
  ArenaSize litert, tflm;
};

Result<Prediction> answer(const Loaded& loaded, const Result<Graph>& graph,
                          const std::string& model, const Arenas& arenas, bool strict,
                          PredictWorkspace& workspace) {
  if (!graph) return tl::unexpected(graph.error());
  Prediction prediction = loaded.predictor.predict(*graph, model, loaded.options, workspace);
  prediction.litert_arena = arenas.litert;
  prediction.tflm_arena = arenas.tflm;
  add_litert_memory(*graph, loaded.predictor.data(), loaded.options.level, prediction);
  if (!loaded.warning.empty()) prediction.warnings.push_back(loaded.warning);
  if (!strict) return prediction;
  std::vector<std::string> ignored, unsupported;
  collect_warnings(*graph, ignored, unsupported);
  if (has_control_flow(*graph)) {
    const std::vector<std::string> found = expand_control_flow(*graph).unsupported;
    unsupported.insert(unsupported.end(), found.begin(), found.end());
  }
  if (!unsupported.empty()) return make_error(ErrorCode::kUnsupported, model, unsupported.front());
  if (!prediction.in_range)
    return make_error(ErrorCode::kUnsupported, model,
                      fmt::format("outside the predictor's range: {}",
                                  prediction.reasons.empty() ? "" : prediction.reasons.front()));
  return prediction;
}

}  // namespace

Result<Answers<Prediction>> predict_models(const Context& context, const PredictRequest& request) {
  EDGESAGE_ASSIGN_OR_RETURN(const TflmBuild build, tflm_build(request.abi, request.kernels));
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<Loaded> predictors,
                            load_predictors(context, request));
  Answers<Prediction> answers;
  PredictWorkspace workspace;
  const auto total = static_cast<int64_t>(request.models.size() * predictors.size());
  for (const std::string& model : request.models) {
    if (context.stop_wanted()) break;
    Result<Graph> graph = read_model(model, request.read);
    // A model without subgraphs computes nothing; one that is empty says so.
    if (graph && graph->subgraphs.empty()) graph->subgraphs.emplace_back();
    Arenas arenas;
    if (graph) arenas = {litert_arena_size(*graph), tflm_arena_plan(*graph, build).size};
    for (const Loaded& loaded : predictors) {
      context.report(static_cast<int64_t>(answers.size()), total, model);
      answers.push_back({model, loaded.predictor.data().device,
                         answer(loaded, graph, model, arenas, request.strict, workspace)});
    }
  }
  return answers;
}

}  // namespace edgesage::app
