#include "src/learn/device_evaluator.h"

#include <fmt/format.h>

#include <utility>

#include "src/analysis/row_costs.h"
#include "src/base/file.h"
#include "src/io/tflite_writer.h"

namespace edgesage {
namespace {

std::optional<double> quantity(const Json& answer, const char* name) {
  const auto found = answer.find(name);
  if (found == answer.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

Result<search::Costs> costs_of(const Json& answer) {
  if (const std::string error = json_string(answer, "error"); !error.empty())
    return make_error(ErrorCode::kDeviceFailed, "", error);
  search::Costs costs;
  costs.measured = true;
  costs.latency_ms = quantity(answer, "latency_ms");
  costs.energy_mj = quantity(answer, "energy_mj");
  costs.peak_ram_bytes = quantity(answer, "peak_ram_bytes");
  if (!costs.peak_ram_bytes) costs.peak_ram_bytes = quantity(answer, "sram_bytes");
  costs.macs = json_int(answer, "macs", 0);
  costs.weights_bytes = json_int(answer, "weights_bytes", 0);
  return costs;
}

}  // namespace

DeviceEvaluator::DeviceEvaluator(WorkerClient worker, DeviceDescription device,
                                 MeasureOptions options, EvaluationLog log,
                                 std::filesystem::path scratch)
    : worker_(std::move(worker)),
      device_(std::move(device)),
      options_(std::move(options)),
      log_(std::move(log)),
      scratch_(std::move(scratch)) {}

Status DeviceEvaluator::prepare(const PruningSpace& space) {
  space_ = &space;
  return {};
}

Result<Result<search::Costs>> DeviceEvaluator::measure_one(const Genome& genome,
                                                           const std::string& key) {
  if (const auto known = log_.find(key)) return costs_of(*known);
  EDGESAGE_ASSIGN_OR_RETURN(const Graph graph, space_->build(genome));
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, write_tflite(graph));
  const std::filesystem::path file = scratch_ / "measured.tflite";
  EDGESAGE_RETURN_IF_ERROR(write_file(file, bytes));
  EDGESAGE_ASSIGN_OR_RETURN(const Measurement measured, measure(worker_, device_, file, options_));
  ++runs_;
  Json answer = Json::object();
  for (const auto& [name, value] : measured.quantities) answer[name] = value;
  if (!measured.error.empty()) answer["error"] = measured.error;
  const GraphTotals totals = graph_totals(graph);
  answer["macs"] = totals.macs;
  answer["weights_bytes"] = totals.weights_bytes;
  EDGESAGE_RETURN_IF_ERROR(log_.add(key, answer));
  return costs_of(answer);
}

Result<std::vector<Result<search::Costs>>> DeviceEvaluator::evaluate(
    std::span<const Genome> genomes) {
  return measure_again(genomes, 0);
}

Result<std::vector<Result<search::Costs>>> DeviceEvaluator::measure_again(
    std::span<const Genome> genomes, int round) {
  if (space_ == nullptr)
    return make_error(ErrorCode::kInternal, "search", "the evaluator was not prepared");
  std::vector<Result<search::Costs>> answers;
  for (const Genome& genome : genomes) {
    std::string key = values_key(*space_, genome);
    if (round > 0) key += fmt::format("#{}", round);
    EDGESAGE_ASSIGN_OR_RETURN(Result<search::Costs> costs, measure_one(genome, key));
    answers.push_back(std::move(costs));
  }
  return answers;
}

}  // namespace edgesage
