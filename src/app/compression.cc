#include "src/app/compression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "src/app/search.h"
#include "src/app/search_report.h"
#include "src/base/file.h"
#include "src/devices/worker_client.h"
#include "src/learn/device_evaluator.h"
#include "src/search/pareto.h"
#include "src/spaces/space.h"

namespace edgesage::app {
namespace {

const std::vector<std::string> kArms{"hardware", "estimator", "macs", "additive", "random"};
const std::vector<std::string> kNetworks{"reference/inception-v3", "reference/densenet169",
                                         "reference/resnet50"};

std::string file_name(std::string text) {
  std::ranges::replace(text, '/', '_');
  return text;
}

// What the arms of one network, device and seed have in common.
class Setting {
 public:
  Setting(const Context& context, const CompressionRequest& request, std::string network,
          std::string device, uint64_t seed)
      : context_(context),
        request_(request),
        network_(std::move(network)),
        device_(std::move(device)),
        seed_(seed),
        directory_(request.directory / fmt::format("{}__{}__{}__{}", file_name(network_),
                                                   file_name(device_), request.evaluations, seed)) {
  }

  Status open() {
    EDGESAGE_ASSIGN_OR_RETURN(const NetworkName name, NetworkName::parse(network_));
    EDGESAGE_ASSIGN_OR_RETURN(Graph graph, build_network(name));
    EDGESAGE_ASSIGN_OR_RETURN(space_, PruningSpace::make(std::move(graph), {}));
    std::error_code error;
    std::filesystem::create_directories(directory_, error);
    EDGESAGE_ASSIGN_OR_RETURN(const DeviceCatalog catalog, load_devices(context_));
    EDGESAGE_ASSIGN_OR_RETURN(DeviceDescription described, catalog.find(device_));
    EDGESAGE_ASSIGN_OR_RETURN(std::vector<WorkerClient> workers,
                              workers_of(described, context_.places, request_.threads));
    EDGESAGE_ASSIGN_OR_RETURN(EvaluationLog log,
                              EvaluationLog::open(directory_ / "again.jsonl",
                                                  fmt::format("{} on {}", network_, device_)));
    again_.emplace(std::move(workers), std::move(described), MeasureOptions{}, std::move(log),
                   directory_);
    return again_->prepare(*space_);
  }

  // Nullopt where the user stopped it.
  Result<std::optional<CompressionArm>> run(const std::string& arm) {
    SearchRequest search{.model = network_, .device = device_, .predictor = {}};
    search.evaluations = request_.evaluations;
    search.seed = seed_;
    search.threads = request_.threads;
    search.snap = false;
    search.keep = 0;
    search.directory = directory_ / arm;
    search.hardware = arm == "hardware";
    search.calibrate = search.hardware ? 0 : request_.budget;
    if (arm == "macs") search.objectives = {"macs"};
    if (arm == "additive") search.cost_model = "additive";
    if (arm == "random") search.method = "random";
    if (arm != "hardware" && arm != "estimator") EDGESAGE_RETURN_IF_ERROR(share_labels(arm));
    EDGESAGE_ASSIGN_OR_RETURN(const SearchReport report, app::search(context_, search));
    EDGESAGE_RETURN_IF_ERROR(keep_cost(arm, report));
    if (report.stopped) return std::optional<CompressionArm>();
    return judge(arm, report);
  }

 private:
  // The calibration is made once; the others read its measurements and its predictor.
  Status share_labels(const std::string& arm) const {
    std::error_code error;
    std::filesystem::create_directories(directory_ / arm, error);
    for (const char* name : {"measured.jsonl", "predictor.edgesage"}) {
      const auto from = directory_ / "estimator" / name, to = directory_ / arm / name;
      if (std::filesystem::exists(from, error) && !std::filesystem::exists(to, error))
        std::filesystem::copy_file(from, to, error);
      if (error) return make_error(ErrorCode::kBadStore, to.string(), error.message());
    }
    return {};
  }

  std::filesystem::path cost_file(const std::string& arm) const {
    return directory_ / arm / "cost.json";
  }
  Result<Json> cost_of(const std::string& arm) const {
    std::error_code ignored;
    const std::filesystem::path file = cost_file(arm);
    if (!std::filesystem::exists(file, ignored)) return Json{{"finished", false}};
    EDGESAGE_ASSIGN_OR_RETURN(const std::string text, read_text(file, ErrorCode::kBadStore));
    return parse_json(text, file.string(), ErrorCode::kBadStore);
  }

  // Runs and time of the search itself, summed over its pieces where it was interrupted. What is
  // asked once more when it has finished is none of it.
  Status keep_cost(const std::string& arm, const SearchReport& report) {
    EDGESAGE_ASSIGN_OR_RETURN(const Json before, cost_of(arm));
    const auto finished = before.find("finished");
    if (finished == before.end() || *finished != false) return {};
    const Json now{{"device_runs", json_int(before, "device_runs", 0) + report.device_runs},
                   {"seconds", json_number(before, "seconds", 0) + report.seconds},
                   {"finished", !report.stopped}};
    return write_text(cost_file(arm), to_text(now) + "\n");
  }

  Genome genome_of(const SearchPoint& point) const {
    Genome genome;
    for (size_t g = 0; g < point.values.size(); ++g) {
      const auto& values = space_->genes()[g].values;
      genome.push_back(
          static_cast<int32_t>(std::ranges::find(values, point.values[g]) - values.begin()));
    }
    return genome;
  }

  // Share of the unit square that the points cover; what failed covers nothing.
  Result<double> volume(std::span<const Genome> genomes, std::span<const double> quality, int round,
                        std::vector<double>& latency) {
    const Genome base = space_->base();
    EDGESAGE_ASSIGN_OR_RETURN(const auto original, again_->measure_again({&base, 1}, 1));
    if (!original.front() || !original.front()->latency_ms)
      return make_error(ErrorCode::kDeviceFailed, network_, "the original cannot be measured");
    const double unit = *original.front()->latency_ms;
    std::vector<std::vector<double>> points;
    latency.assign(genomes.size(), std::nan(""));
    for (size_t begin = 0; begin < genomes.size(); begin += again_->batch()) {
      if (context_.stop_wanted()) return make_error(ErrorCode::kDeviceFailed, network_, "stopped");
      context_.report(static_cast<int64_t>(begin), static_cast<int64_t>(genomes.size()),
                      "measuring a front anew");
      const auto batch = genomes.subspan(begin, std::min(again_->batch(), genomes.size() - begin));
      EDGESAGE_ASSIGN_OR_RETURN(const auto answers, again_->measure_again(batch, round));
      for (size_t i = 0; i < batch.size(); ++i) {
        if (!answers[i] || !answers[i]->latency_ms) continue;
        latency[begin + i] = *answers[i]->latency_ms;
        points.push_back({*answers[i]->latency_ms / unit, 1 - quality[begin + i]});
      }
    }
    const std::vector<double> reference{1.0, 1.0};
    return search::hypervolume(std::move(points), reference);
  }

  Result<std::optional<CompressionArm>> judge(const std::string& arm, const SearchReport& report) {
    std::vector<std::vector<double>> objectives;
    for (const SearchPoint& point : report.front) {
      const double cost = arm == "macs" ? static_cast<double>(point.predicted.macs)
                                        : point.predicted.latency_ms.value_or(0);
      objectives.push_back({cost, -point.quality});
    }
    std::vector<size_t> chosen = most_interesting(objectives, static_cast<size_t>(request_.front));
    std::ranges::sort(chosen);
    std::vector<Genome> genomes;
    std::vector<double> quality, said;
    for (const size_t i : chosen) {
      genomes.push_back(genome_of(report.front[i]));
      quality.push_back(report.front[i].quality);
      said.push_back(report.front[i].predicted.latency_ms.value_or(std::nan("")));
    }
    CompressionArm row{.network = network_, .device = device_, .arm = arm};
    row.seed = static_cast<int64_t>(seed_);
    row.evaluations = report.evaluations;
    row.front = static_cast<int64_t>(chosen.size());
    EDGESAGE_ASSIGN_OR_RETURN(const Json cost, cost_of(arm));
    row.device_runs = json_int(cost, "device_runs", 0);
    row.seconds = json_number(cost, "seconds", 0);
    std::vector<double> latency, second;
    EDGESAGE_ASSIGN_OR_RETURN(row.hypervolume, volume(genomes, quality, 1, latency));
    if (arm == "hardware") {
      EDGESAGE_ASSIGN_OR_RETURN(const double anew, volume(genomes, quality, 2, second));
      row.noise_percent = 100 * std::abs(anew / row.hypervolume - 1);
    }
    double sum = 0, count = 0;
    for (size_t i = 0; i < said.size(); ++i)
      if (std::isfinite(said[i]) && latency[i] > 0) {
        sum += std::abs(said[i] / latency[i] - 1);
        ++count;
      }
    // The proxy's own figure is no latency.
    if (count > 0 && arm != "macs") row.mape = 100 * sum / count;
    return row;
  }

  const Context& context_;
  const CompressionRequest& request_;
  std::string network_, device_;
  uint64_t seed_;
  std::filesystem::path directory_;
  std::optional<PruningSpace> space_;
  std::optional<DeviceEvaluator> again_;
};

// Ratios among the arms of a setting: rows [first, end).
void compare(CompressionTable& table, size_t first) {
  const auto find = [&](const char* arm) -> const CompressionArm* {
    for (size_t i = first; i < table.rows.size(); ++i)
      if (table.rows[i].arm == arm) return &table.rows[i];
    return nullptr;
  };
  const CompressionArm* hardware = find("hardware");
  const CompressionArm* macs = find("macs");
  if (hardware == nullptr || hardware->hypervolume <= 0) return;
  const double best = hardware->hypervolume;
  const std::optional<double> least =
      macs != nullptr ? std::optional<double>(macs->hypervolume) : std::nullopt;
  for (size_t i = first; i < table.rows.size(); ++i) {
    CompressionArm& row = table.rows[i];
    row.of_hardware = 100 * row.hypervolume / best;
    if (least && best > *least && row.arm != "macs" && row.arm != "hardware")
      row.gap_closed = 100 * (row.hypervolume - *least) / (best - *least);
  }
}

Status run_setting(const Context& context, const std::vector<std::string>& arms, Setting& setting,
                   CompressionTable& table) {
  EDGESAGE_RETURN_IF_ERROR(setting.open());
  for (const std::string& arm : arms) {
    if (context.stop_wanted()) break;
    EDGESAGE_ASSIGN_OR_RETURN(std::optional<CompressionArm> row, setting.run(arm));
    if (!row) break;
    table.rows.push_back(std::move(*row));
  }
  return {};
}

}  // namespace

Result<CompressionTable> compression_study(const Context& context,
                                           const CompressionRequest& request) {
  if (request.directory.empty())
    return make_error(ErrorCode::kInvalidArgument, "results",
                      "name a directory for the study (--results DIR)");
  std::vector<std::string> arms = request.arms.empty() ? kArms : request.arms;
  for (const std::string& arm : arms)
    if (std::ranges::find(kArms, arm) == kArms.end())
      return make_error(ErrorCode::kInvalidArgument, arm,
                        fmt::format("no arm of the study; there are {}", fmt::join(kArms, ", ")));
  // The others read what the estimator's calibration measured.
  std::ranges::sort(arms, {}, [](const std::string& arm) {
    return arm == "estimator" ? 0 : arm == "hardware" ? 1 : 2;
  });
  CompressionTable table;
  const auto& networks = request.networks.empty() ? kNetworks : request.networks;
  const std::vector<std::string> usual{"ethos-u55-256"};
  for (const std::string& network : networks)
    for (const std::string& device : request.devices.empty() ? usual : request.devices)
      for (int64_t s = 0; s < request.seeds; ++s) {
        if (context.stop_wanted()) {
          table.unfinished.push_back(fmt::format("{} on {}: stopped", network, device));
          continue;
        }
        Setting setting(context, request, network, device, request.seed + static_cast<uint64_t>(s));
        const size_t first = table.rows.size();
        const Status done = run_setting(context, arms, setting, table);
        compare(table, first);
        if (!done && !context.stop_wanted()) return tl::unexpected(done.error());
        if (done && table.rows.size() == first + arms.size()) continue;
        table.unfinished.push_back(fmt::format("{} on {}: stopped", network, device));
      }
  return table;
}

}  // namespace edgesage::app
