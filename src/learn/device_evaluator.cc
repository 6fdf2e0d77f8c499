#include "src/learn/device_evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "src/analysis/row_costs.h"
#include "src/base/file.h"
#include "src/base/hash.h"
#include "src/base/parallel.h"
#include "src/io/tflite_writer.h"

namespace edgesage {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

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

Result<std::vector<WorkerClient>> workers_of(const DeviceDescription& device,
                                             const DevicePlaces& places, int threads) {
  const int count = device.exclusive ? 1 : threads > 0 ? threads : hardware_threads();
  std::vector<WorkerClient> workers;
  for (int i = 0; i < count; ++i) {
    EDGESAGE_ASSIGN_OR_RETURN(WorkerClient worker, WorkerClient::for_device(device, places));
    workers.push_back(std::move(worker));
  }
  return workers;
}

DeviceEvaluator::DeviceEvaluator(std::vector<WorkerClient> workers, DeviceDescription device,
                                 MeasureOptions options, EvaluationLog log,
                                 std::filesystem::path scratch, EvaluationLog* shared)
    : workers_(std::move(workers)),
      device_(std::move(device)),
      options_(std::move(options)),
      log_(std::move(log)),
      scratch_(std::move(scratch)),
      shared_(shared) {}

Status DeviceEvaluator::prepare(const PruningSpace& space) {
  space_ = &space;
  return {};
}

Result<DeviceEvaluator::Answer> DeviceEvaluator::answer_one(const Genome& genome, size_t worker,
                                                            bool anew) {
  EDGESAGE_ASSIGN_OR_RETURN(const Graph graph, space_->build(genome));
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, write_tflite(graph));
  Answer answer;
  if (shared_ != nullptr && !anew) {
    Hasher hasher;
    hasher.add_bytes(bytes);
    answer.content = hasher.hex();
    const std::scoped_lock lock(*mutex_);
    if (auto known = shared_->find(answer.content)) {
      answer.json = *std::move(known);
      answer.is_known = true;
      return answer;
    }
  }
  EDGESAGE_ASSIGN_OR_RETURN(answer.json, measure_one(graph, bytes, worker));
  return answer;
}

Result<Json> DeviceEvaluator::measure_one(const Graph& graph, std::span<const std::byte> bytes,
                                          size_t worker) {
  const std::filesystem::path file = scratch_ / fmt::format("measured-{}.tflite", worker);
  EDGESAGE_RETURN_IF_ERROR(write_file(file, bytes));
  const Clock::time_point start = Clock::now();
  EDGESAGE_ASSIGN_OR_RETURN(const Measurement measured,
                            measure(workers_[worker], device_, file, options_));
  Json answer = Json::object();
  for (const auto& [name, value] : measured.quantities) answer[name] = value;
  if (!measured.error.empty()) answer["error"] = measured.error;
  const GraphTotals totals = graph_totals(graph);
  answer["macs"] = totals.macs;
  answer["weights_bytes"] = totals.weights_bytes;
  answer["seconds"] = seconds_since(start);
  return answer;
}

Status DeviceEvaluator::keep(const Answer& answer, const std::string& key) {
  if (!answer.is_known) ++runs_;
  if (!answer.is_known && !answer.content.empty())
    EDGESAGE_RETURN_IF_ERROR(shared_->add(answer.content, answer.json));
  return log_.add(key, answer.json);
}

// Each worker takes the next that nobody has. An error of the device ends them all; of several, the
// first network's is told.
Status DeviceEvaluator::measure_all(std::span<const Genome> genomes,
                                    std::span<const std::string> keys, bool anew) {
  const Clock::time_point start = Clock::now();
  std::vector<Status> done(genomes.size());
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  const auto count = static_cast<int64_t>(std::min(workers_.size(), genomes.size()));
  parallel_for(count, static_cast<int>(count), [&](int64_t worker) {
    for (size_t i = next++; i < genomes.size() && !failed; i = next++) {
      const Result<Answer> answer = answer_one(genomes[i], static_cast<size_t>(worker), anew);
      const std::scoped_lock lock(*mutex_);
      done[i] = answer ? keep(*answer, keys[i]) : tl::unexpected(answer.error());
      if (!done[i]) failed = true;
    }
  });
  measuring_seconds_ += seconds_since(start);
  for (const Status& status : done) EDGESAGE_RETURN_IF_ERROR(status);
  return {};
}

Result<std::vector<Result<search::Costs>>> DeviceEvaluator::evaluate(
    std::span<const Genome> genomes) {
  return measure_again(genomes, 0);
}

Result<std::vector<Result<search::Costs>>> DeviceEvaluator::measure_again(
    std::span<const Genome> genomes, int round) {
  if (space_ == nullptr)
    return make_error(ErrorCode::kInternal, "search", "the evaluator was not prepared");
  std::vector<std::string> keys, new_keys;
  std::vector<Genome> new_genomes;
  for (const Genome& genome : genomes) {
    EDGESAGE_RETURN_IF_ERROR(space_->check(genome));
    keys.push_back(values_key(*space_, genome));
    if (round > 0) keys.back() += fmt::format("#{}", round);
    if (log_.find(keys.back()) || std::ranges::find(new_keys, keys.back()) != new_keys.end())
      continue;
    new_keys.push_back(keys.back());
    new_genomes.push_back(genome);
  }
  EDGESAGE_RETURN_IF_ERROR(measure_all(new_genomes, new_keys, round > 0));
  std::vector<Result<search::Costs>> answers;
  for (const std::string& key : keys) answers.push_back(costs_of(*log_.find(key)));
  return answers;
}

}  // namespace edgesage
