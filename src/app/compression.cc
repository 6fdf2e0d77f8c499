#include "src/app/compression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "src/app/compression_stairs.h"
#include "src/app/search.h"
#include "src/app/search_report.h"
#include "src/base/file.h"
#include "src/base/text.h"
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
    const std::string identity = fmt::format("{} on {}", network_, device_);
    EDGESAGE_ASSIGN_OR_RETURN(EvaluationLog log,
                              EvaluationLog::open(directory_ / "again.jsonl", identity));
    if (!described.exclusive) {
      EDGESAGE_ASSIGN_OR_RETURN(
          answers_, EvaluationLog::open(
                        request_.directory / fmt::format("answers__{}__{}.jsonl",
                                                         file_name(network_), file_name(device_)),
                        identity));
    }
    again_.emplace(std::move(workers), std::move(described), MeasureOptions{}, std::move(log),
                   directory_, shared());
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
    search.shared_answers = shared();
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

  // The estimator's steps beside the device's; the estimator has run.
  Result<std::vector<CompressionStaircase>> staircases() {
    EDGESAGE_ASSIGN_OR_RETURN(const Predictor predictor,
                              Predictor::load(directory_ / "estimator" / "predictor.edgesage"));
    EDGESAGE_ASSIGN_OR_RETURN(std::vector<CompressionStaircase> all,
                              compare_staircases(context_, *space_, predictor, *again_,
                                                 static_cast<size_t>(request_.stairs)));
    for (CompressionStaircase& one : all) {
      one.network = network_;
      one.device = device_;
    }
    return all;
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

  EvaluationLog* shared() { return answers_ ? &*answers_ : nullptr; }

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

  // Time beside the device's, summed over the pieces of a search that was interrupted. What is
  // asked once more when it has finished is none of it.
  Status keep_cost(const std::string& arm, const SearchReport& report) {
    EDGESAGE_ASSIGN_OR_RETURN(const Json before, cost_of(arm));
    const auto finished = before.find("finished");
    if (finished == before.end() || *finished != false) return {};
    const double own = report.seconds - report.device_seconds;
    const Json now{{"own_seconds", json_number(before, "own_seconds", 0) + own},
                   {"finished", !report.stopped}};
    return write_text(cost_file(arm), to_text(now) + "\n");
  }

  // Runs and time of the device are those in the arm's log, which a crash does not lose.
  Status add_cost(CompressionArm& row) const {
    EDGESAGE_ASSIGN_OR_RETURN(const Json cost, cost_of(row.arm));
    row.seconds = json_number(cost, "own_seconds", 0);
    const std::filesystem::path file = directory_ / row.arm / "measured.jsonl";
    std::error_code ignored;
    if (row.arm == "macs" || !std::filesystem::exists(file, ignored)) return {};
    EDGESAGE_ASSIGN_OR_RETURN(const std::string text, read_text(file, ErrorCode::kBadStore));
    double seconds = 0;
    for (const std::string& line : split(text, '\n')) {
      const auto json = parse_json(line, file.string(), ErrorCode::kBadStore);
      if (!json || !json->contains("answer")) continue;
      ++row.device_runs;
      seconds += json_number((*json)["answer"], "seconds", 0);
    }
    row.seconds += seconds / static_cast<double>(again_->workers());
    return {};
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

  // Of a device that repeats itself what it said is what it would say: round 0. NaN: it failed.
  Result<std::vector<double>> latencies(std::span<const Genome> genomes, int round) {
    std::vector<double> all;
    for (size_t begin = 0; begin < genomes.size(); begin += again_->batch()) {
      if (context_.stop_wanted()) return make_error(ErrorCode::kDeviceFailed, network_, "stopped");
      context_.report(static_cast<int64_t>(begin), static_cast<int64_t>(genomes.size()),
                      "measuring a front anew");
      const auto batch = genomes.subspan(begin, std::min(again_->batch(), genomes.size() - begin));
      EDGESAGE_ASSIGN_OR_RETURN(const auto answers, again_->measure_again(batch, round));
      for (const auto& answer : answers)
        all.push_back(answer && answer->latency_ms ? *answer->latency_ms : std::nan(""));
    }
    return all;
  }

  // Share of the unit square that the points cover; what failed covers nothing.
  static double volume(std::span<const double> latency_ms, std::span<const double> quality,
                       double original_ms) {
    std::vector<std::vector<double>> points;
    for (size_t i = 0; i < latency_ms.size(); ++i)
      if (latency_ms[i] > 0) points.push_back({latency_ms[i] / original_ms, 1 - quality[i]});
    const std::vector<double> reference{1.0, 1.0};
    return search::hypervolume(std::move(points), reference);
  }

  // How far a second measurement moves a front's volume; of a compiler's, of a few points.
  Result<double> noise_percent(std::span<const Genome> genomes, std::span<const double> quality,
                               const std::vector<double>& latency_ms, double original_ms) {
    constexpr size_t kFew = 8;
    const size_t step = shared() == nullptr ? 1 : std::max<size_t>(1, genomes.size() / kFew);
    std::vector<Genome> some;
    for (size_t i = 0; i < genomes.size(); i += step) some.push_back(genomes[i]);
    EDGESAGE_ASSIGN_OR_RETURN(const std::vector<double> second, latencies(some, 2));
    std::vector<double> anew = latency_ms;
    for (size_t k = 0; k < second.size(); ++k) anew[k * step] = second[k];
    return 100 *
           std::abs(volume(anew, quality, original_ms) / volume(latency_ms, quality, original_ms) -
                    1);
  }

  Status write_front(const std::string& arm, std::span<const double> quality,
                     std::span<const double> said, std::span<const double> measured,
                     std::span<const Genome> genomes, double original_ms) const {
    std::string text = "quality,searched_ms,measured_ms,original_ms,values\n";
    for (size_t i = 0; i < genomes.size(); ++i)
      text += fmt::format("{:.6f},{:.6f},{:.6f},{:.6f},{}\n", quality[i], said[i], measured[i],
                          original_ms, values_key(*space_, genomes[i]));
    return write_text(directory_ / arm / "front.csv", text);
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
    EDGESAGE_RETURN_IF_ERROR(add_cost(row));
    const int round = shared() == nullptr ? 1 : 0;
    const Genome base = space_->base();
    EDGESAGE_ASSIGN_OR_RETURN(const auto original, latencies({&base, 1}, round));
    if (std::isnan(original.front()))
      return make_error(ErrorCode::kDeviceFailed, network_, "the original cannot be measured");
    EDGESAGE_ASSIGN_OR_RETURN(const std::vector<double> latency, latencies(genomes, round));
    row.hypervolume = volume(latency, quality, original.front());
    EDGESAGE_RETURN_IF_ERROR(write_front(arm, quality, said, latency, genomes, original.front()));
    if (arm == "hardware") {
      EDGESAGE_ASSIGN_OR_RETURN(row.noise_percent,
                                noise_percent(genomes, quality, latency, original.front()));
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
  std::optional<EvaluationLog> answers_;  // of a compiler, by the content of the file
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

Status add_staircases(const CompressionRequest& request, Setting& setting,
                      CompressionTable& table) {
  if (request.stairs == 0) return {};
  EDGESAGE_ASSIGN_OR_RETURN(std::vector<CompressionStaircase> all, setting.staircases());
  std::ranges::move(all, std::back_inserter(table.staircases));
  return {};
}

Status run_setting(const Context& context, const CompressionRequest& request,
                   const std::vector<std::string>& arms, Setting& setting,
                   CompressionTable& table) {
  const size_t first = table.rows.size();
  EDGESAGE_RETURN_IF_ERROR(setting.open());
  for (const std::string& arm : arms) {
    if (context.stop_wanted()) break;
    EDGESAGE_ASSIGN_OR_RETURN(std::optional<CompressionArm> row, setting.run(arm));
    if (!row) break;
    table.rows.push_back(std::move(*row));
    compare(table, first);
    if (request.row_done) request.row_done(table);
  }
  if (context.stop_wanted() || std::ranges::find(arms, "estimator") == arms.end()) return {};
  return add_staircases(request, setting, table);
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
        const Status done = run_setting(context, request, arms, setting, table);
        if (!done && !context.stop_wanted()) return tl::unexpected(done.error());
        if (done && table.rows.size() == first + arms.size()) continue;
        table.unfinished.push_back(fmt::format("{} on {}: stopped", network, device));
      }
  return table;
}

}  // namespace edgesage::app
