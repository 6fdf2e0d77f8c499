#include "src/app/predict.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/app/arena_plans.h"
#include "src/app/inspect.h"
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
  PredictOptions options;
  options.level = request.level;
  Loaded& one = loaded.emplace_back(Loaded{std::move(predictor), std::move(options), {}});
  recognise_host(context, one);
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

// A file that the runtime reads as it is lies in the device's flash as it is.
void add_flash(const Graph& graph, const std::string& model, Prediction& prediction) {
  std::string& reason = prediction.missing["flash_bytes"];
  std::error_code error;
  if (prediction.runtime == "vela") {
    reason =
        "the compiler encodes weights anew; edgesage measure gives its off_chip_flash_bytes, where "
        "it is installed";
  } else if (graph.format != "tflite") {
    reason = "only .tflite files are stored as they are";
  } else if (model == "-") {
    reason = "of a model from standard input the file is not known";
  } else if (const auto size = std::filesystem::file_size(model, error); error) {
    reason = error.message();
  } else {
    prediction.flash_bytes = static_cast<int64_t>(size);
    prediction.missing.erase("flash_bytes");
  }
}

// What runtimes' planners make of a model, whatever the device.
struct Arenas {
  ArenaSize litert, tflm;
};

Result<Prediction> answer(const Loaded& loaded, const Result<Graph>& graph,
                          const std::string& model, const Arenas& arenas,
                          const std::optional<Inspection>& described, bool strict,
                          PredictWorkspace& workspace) {
  if (!graph) return tl::unexpected(graph.error());
  Prediction prediction = loaded.predictor.predict(*graph, model, loaded.options, workspace);
  prediction.litert_arena = arenas.litert;
  prediction.tflm_arena = arenas.tflm;
  add_litert_memory(*graph, loaded.predictor.data(), loaded.options.level, prediction);
  add_flash(*graph, model, prediction);
  if (!loaded.warning.empty()) prediction.warnings.push_back(loaded.warning);
  prediction.inspection = described;
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

struct ModelPricer::Parts {
  std::vector<Loaded> predictors;
  PredictRequest request;
  TflmBuild tflm;
  PredictWorkspace workspace;
};

ModelPricer::ModelPricer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
ModelPricer::ModelPricer(ModelPricer&& other) noexcept = default;
ModelPricer& ModelPricer::operator=(ModelPricer&& other) noexcept = default;
ModelPricer::~ModelPricer() = default;

Result<ModelPricer> ModelPricer::load(const Context& context, const PredictRequest& request) {
  auto parts = std::make_unique<Parts>();
  EDGESAGE_ASSIGN_OR_RETURN(parts->tflm, tflm_build(request.abi, request.kernels));
  EDGESAGE_ASSIGN_OR_RETURN(parts->predictors, load_predictors(context, request));
  parts->request = request;
  return ModelPricer(std::move(parts));
}

size_t ModelPricer::predictors() const { return parts_->predictors.size(); }

Answers<Prediction> ModelPricer::price(Result<Graph> graph, const std::string& model) {
  const PredictRequest& request = parts_->request;
  // A model without subgraphs computes nothing; one that is empty says so.
  if (graph && graph->subgraphs.empty()) graph->subgraphs.emplace_back();
  Arenas arenas;
  std::optional<Inspection> described;
  if (graph) {
    arenas = {litert_arena_size(*graph), tflm_arena_plan(*graph, parts_->tflm).size};
    if (request.inspect) {
      Result<Inspection> inspection = inspect_graph(*graph, "", request.abi, request.kernels);
      if (inspection) described = std::move(*inspection);
    }
    if (described) described->model = model;
  }
  Answers<Prediction> answers;
  for (const Loaded& loaded : parts_->predictors)
    answers.push_back(
        {model, loaded.predictor.data().device,
         answer(loaded, graph, model, arenas, described, request.strict, parts_->workspace)});
  return answers;
}

Result<Answers<Prediction>> predict_models(const Context& context, const PredictRequest& request) {
  EDGESAGE_ASSIGN_OR_RETURN(ModelPricer pricer, ModelPricer::load(context, request));
  Answers<Prediction> answers;
  const auto total = static_cast<int64_t>(request.models.size() * pricer.predictors());
  for (const std::string& model : request.models) {
    if (context.stop_wanted()) break;
    context.report(static_cast<int64_t>(answers.size()), total, model);
    std::ranges::move(pricer.price(read_model(model, request.read), model),
                      std::back_inserter(answers));
  }
  return answers;
}

}  // namespace edgesage::app
