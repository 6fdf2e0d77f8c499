#include "src/app/selftest.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "src/app/inspect.h"
#include "src/app/predictors.h"
#include "src/base/file.h"
#include "src/devices/measure.h"
#include "src/devices/worker_client.h"
#include "src/graph/graph_hash.h"
#include "src/io/model_file.h"
#include "src/io/tflite_writer.h"
#include "src/predict/predictor.h"
#include "src/spaces/space.h"
#include "src/store/store.h"

namespace edgesage::app {
namespace {

using Outcome = SelftestStep::Outcome;

tl::unexpected<Error> wrong(std::string message) {
  return make_error(ErrorCode::kInternal, "", std::move(message));
}

// A directory of its own that goes with everything in it.
struct Scratch {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("edgesage-selftest-{}", ::getpid());
  Scratch() {
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
};

bool reads_tflite(const DeviceDescription& device) {
  return device.formats.empty() ||
         std::ranges::find(device.formats, "tflite") != device.formats.end();
}

class Selftest {
 public:
  explicit Selftest(const Context& context) : context_(context) {}

  std::vector<SelftestStep> run() {
    step("generate, write and read a network", [this] { return files(); });
    if (!graph_.subgraphs.empty()) {
      step("costs and memory", [this] { return inspection(); });
      step("store", [this] { return store(); });
      devices();
    }
    return std::move(steps_);
  }

 private:
  void add(std::string name, Outcome outcome, std::string detail) {
    steps_.push_back({std::move(name), outcome, std::move(detail)});
  }

  void step(std::string name, const std::function<Result<std::string>()>& body) {
    const Result<std::string> detail = body();
    add(std::move(name), detail ? Outcome::kPassed : Outcome::kFailed,
        detail ? *detail : detail.error().to_string());
  }

  Result<std::string> files() {
    EDGESAGE_ASSIGN_OR_RETURN(const NetworkName name, NetworkName::parse("keyword-sound/1/1"));
    EDGESAGE_ASSIGN_OR_RETURN(const Graph made, build_network(name, {}));
    EDGESAGE_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, write_tflite(made));
    EDGESAGE_RETURN_IF_ERROR(write_file(model_, bytes));
    EDGESAGE_ASSIGN_OR_RETURN(graph_, read_model(model_));
    if (graph_hash(graph_) != graph_hash(made)) return wrong("the file holds another network");
    return fmt::format("{} operators, {} bytes", graph_.main().operators.size(), bytes.size());
  }

  Result<std::string> inspection() {
    EDGESAGE_ASSIGN_OR_RETURN(const Inspection model, inspect_graph(graph_, ""));
    if (model.macs <= 0 || model.memory.activations_bytes.value_or(0) <= 0)
      return wrong("no MACs or no activations were counted");
    return fmt::format("{} MACs, {} bytes of activations", model.macs,
                       *model.memory.activations_bytes);
  }

  Result<std::string> store() {
    const std::filesystem::path file = scratch_.folder / "store.sqlite";
    EDGESAGE_ASSIGN_OR_RETURN(Store store, Store::open(file, StoreMode::kWrite));
    NetworkRecord network;
    network.name = "selftest";
    network.graph_hash = graph_hash(graph_);
    EDGESAGE_ASSIGN_OR_RETURN(const int64_t id, store.add_network(network));
    Measurement measurement;
    measurement.device = "selftest";
    measurement.quantities["latency_ms"] = 1.5;
    EDGESAGE_ASSIGN_OR_RETURN(const int64_t stored, store.add_measurement(id, measurement));
    EDGESAGE_RETURN_IF_ERROR(store.verify());
    EDGESAGE_ASSIGN_OR_RETURN(const auto back, store.measurements({.device = "selftest"}));
    if (back.size() != 1 || back[0].id != stored ||
        back[0].measurement.quantities != measurement.quantities)
      return wrong("what was stored is not what was read");
    return std::string("SQLite file written, verified and read");
  }

  Result<std::string> prediction(const std::filesystem::path& file) {
    EDGESAGE_ASSIGN_OR_RETURN(const Predictor predictor, Predictor::load(file));
    const Prediction answer = predictor.predict(graph_, "selftest", {});
    if (!answer.latency_ms || !std::isfinite(answer.latency_ms->value) ||
        answer.latency_ms->value <= 0)
      return wrong("no latency was predicted");
    double sum = answer.overhead_ms;
    for (const OperatorPrediction& op : answer.operators) sum += op.latency_ms.value_or(0);
    if (std::abs(sum / answer.latency_ms->value - 1) > 1e-4)
      return wrong("the operators do not sum to the total");
    return fmt::format("{:.4g} ms, between {:.4g} and {:.4g}", answer.latency_ms->value,
                       answer.latency_ms->lo, answer.latency_ms->hi);
  }

  Result<std::string> measurement(const DeviceDescription& device) {
    EDGESAGE_ASSIGN_OR_RETURN(WorkerClient worker,
                              WorkerClient::for_device(device, context_.places));
    MeasureOptions options;
    options.graph = &graph_;
    EDGESAGE_ASSIGN_OR_RETURN(const Measurement answer, measure(worker, device, model_, options));
    if (!answer.error.empty()) return wrong(answer.error);
    const auto latency = answer.quantities.find("latency_ms");
    if (latency == answer.quantities.end()) return wrong("it gave no latency");
    return fmt::format("{:.4g} ms ({})", latency->second, answer.statistic);
  }

  // One device of each runtime is measured: the others are the same program.
  void devices() {
    const Result<DeviceCatalog> catalog = load_devices(context_);
    if (!catalog) {
      add("device descriptions", Outcome::kFailed, catalog.error().to_string());
      return;
    }
    std::vector<std::string> measured;
    for (const DeviceDescription& device : catalog->devices()) {
      if (const auto file = find_predictor(context_, device.name))
        step("predict on " + device.name, [&] { return prediction(*file); });
      if (std::ranges::find(measured, device.runtime) != measured.end()) continue;
      measured.push_back(device.runtime);
      if (context_.stop_wanted()) return;
      const std::string name = "measure on " + device.name;
      if (!reads_tflite(device))
        add(name, Outcome::kSkipped, "it reads no .tflite, which is what is generated");
      else if (const Status possible = check_device(device, context_.places); !possible)
        add(name, Outcome::kSkipped, possible.error().message);
      else
        step(name, [&] { return measurement(device); });
    }
  }

  const Context& context_;
  Scratch scratch_;
  std::filesystem::path model_ = scratch_.folder / "model.tflite";
  Graph graph_;
  std::vector<SelftestStep> steps_;
};

}  // namespace

std::vector<SelftestStep> selftest(const Context& context) { return Selftest(context).run(); }

}  // namespace edgesage::app
