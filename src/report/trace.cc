// Predictions in the Trace Event Format of Chrome: times in microseconds, and whole nanoseconds,
// for that is what Perfetto keeps: rounded apart, an event would overlap the next one and be
// dropped.
#include <cmath>
#include <map>

#include "src/report/json_common.h"
#include "src/report/predict.h"
#include "src/report/text_table.h"

namespace edgesage::report {
namespace {

Json named(const char* what, int64_t pid, int64_t tid, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", pid}, {"tid", tid}, {"args", {{"name", name}}}};
}

Json counter(const char* name, int64_t pid, double ts, const char* unit, double value) {
  return {{"ph", "C"}, {"name", name}, {"pid", pid}, {"ts", ts}, {"args", {{unit, value}}}};
}

// The operator as the inspection has it; null where there is none.
const InspectedOperator* inspected(const Prediction& prediction, int32_t index) {
  if (!prediction.inspection || index < 0) return nullptr;
  // Those of the main subgraph come first, in order.
  const std::vector<InspectedOperator>& all = prediction.inspection->operators;
  const auto place = static_cast<size_t>(index);
  if (place >= all.size() || all[place].subgraph != 0) return nullptr;
  return &all[place];
}

Json arguments(const OperatorPrediction& op, const InspectedOperator* described, double total_ms) {
  Json out = {{"index", op.index}, {"name", op.name}, {"macs", op.macs}, {"known", op.known}};
  if (op.latency_ms && total_ms > 0) out["share_percent"] = 100 * *op.latency_ms / total_ms;
  if (op.energy_mj) out["energy_mj"] = *op.energy_mj;
  if (!op.placement_reason.empty()) out["placement_reason"] = op.placement_reason;
  if (described == nullptr) return out;
  const auto shapes = [](const std::vector<InspectedTensor>& tensors) {
    Json list = Json::array();
    for (const InspectedTensor& tensor : tensors)
      if (tensor.index >= 0) list.push_back(shape_text(tensor.shape, tensor.has_rank));
    return list;
  };
  out["inputs"] = shapes(described->inputs);
  out["outputs"] = shapes(described->outputs);
  return out;
}

class Timeline {
 public:
  Timeline(Json& events, int64_t pid) : events_(events), pid_(pid) {}

  void add(const Prediction& prediction) {
    const double total = prediction.latency_ms ? prediction.latency_ms->value : 0;
    events_.push_back(
        named("process_name", pid_, 0, prediction.model + " on " + prediction.device));
    for (const OperatorPrediction& op : prediction.operators)
      add_operator(op, inspected(prediction, op.index), total);
    if (prediction.overhead_ms > 0)
      complete("overhead", "overhead", prediction.overhead_ms, {{"of", "the whole run"}});
    if (has_memory_) events_.push_back(counter("activations", pid_, now(), "bytes", 0));
    if (prediction.energy_mj) events_.push_back(counter("power", pid_, now(), "mW", 0));
  }

 private:
  int64_t thread(const std::string& placement) {
    const auto [entry, is_new] =
        threads_.try_emplace(placement, static_cast<int64_t>(threads_.size()) + 1);
    if (is_new) events_.push_back(named("thread_name", pid_, entry->second, placement));
    return entry->second;
  }

  [[nodiscard]] double now() const { return static_cast<double>(at_ns_) / 1000; }

  void complete(const std::string& name, const std::string& placement, double ms, Json args) {
    exact_ms_ += ms;
    const int64_t end_ns = std::llround(1e6 * exact_ms_);
    events_.push_back({{"ph", "X"},
                       {"name", name},
                       {"cat", placement},
                       {"pid", pid_},
                       {"tid", thread(placement)},
                       {"ts", now()},
                       {"dur", static_cast<double>(end_ns - at_ns_) / 1000},
                       {"args", std::move(args)}});
    at_ns_ = end_ns;
  }

  void add_operator(const OperatorPrediction& op, const InspectedOperator* described,
                    double total) {
    const std::string placement = op.placement.empty() ? "device" : op.placement;
    if (described != nullptr && described->live_bytes) {
      has_memory_ = true;
      events_.push_back(counter("activations", pid_, now(), "bytes",
                                static_cast<double>(*described->live_bytes)));
    }
    Json args = arguments(op, described, total);
    if (!op.latency_ms) {
      // Takes time that is not known: a mark, and no time at all.
      args["reason"] = "the device's tool gives no time for it";
      events_.push_back({{"ph", "i"},
                         {"s", "t"},
                         {"name", op.kind},
                         {"cat", placement},
                         {"pid", pid_},
                         {"tid", thread(placement)},
                         {"ts", now()},
                         {"args", std::move(args)}});
      return;
    }
    // Millijoules in a millisecond are watts.
    if (op.energy_mj && *op.latency_ms > 0)
      events_.push_back(counter("power", pid_, now(), "mW", 1000 * *op.energy_mj / *op.latency_ms));
    complete(op.kind, placement, *op.latency_ms, std::move(args));
  }

  Json& events_;
  int64_t pid_;
  double exact_ms_ = 0;
  int64_t at_ns_ = 0;
  bool has_memory_ = false;
  std::map<std::string, int64_t> threads_;
};

}  // namespace

std::string predict_trace(const Answers<Prediction>& answers) {
  Json events = Json::array();
  Json about = Json::array();
  int64_t pid = 0;
  for (const Answer<Prediction>& answer : answers) {
    ++pid;
    if (!answer.result) {
      about.push_back({{"pid", pid},
                       {"model", answer.subject},
                       {"device", answer.device},
                       {"error", error_json(answer.result.error())}});
      continue;
    }
    const Prediction& prediction = *answer.result;
    Timeline(events, pid).add(prediction);
    about.push_back({{"pid", pid},
                     {"model", prediction.model},
                     {"device", prediction.device},
                     {"predictor_id", prediction.predictor_id},
                     {"in_range", prediction.in_range}});
  }
  return to_text({{"traceEvents", events},
                  {"displayTimeUnit", "ms"},
                  {"otherData", {{"source", "edgesage predict"}, {"predictions", about}}}},
                 1) +
         '\n';
}

}  // namespace edgesage::report
