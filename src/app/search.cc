#include "src/app/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/app/search_costs.h"
#include "src/app/search_report.h"
#include "src/base/file.h"
#include "src/base/hash.h"
#include "src/base/text.h"
#include "src/graph/graph_hash.h"
#include "src/io/model_file.h"
#include "src/search/checkpoint.h"
#include "src/search/greedy_adaptation.h"
#include "src/search/nsga2.h"
#include "src/search/staircase.h"
#include "src/spaces/space.h"

namespace edgesage::app {
namespace {

using Clock = std::chrono::steady_clock;

tl::unexpected<Error> bad_request(std::string where, std::string message) {
  return make_error(ErrorCode::kInvalidArgument, std::move(where), std::move(message));
}

Status check(const SearchRequest& request) {
  constexpr std::string_view kObjectives[] = {"latency_ms", "energy_mj", "peak_ram_bytes",
                                              "weights_bytes", "macs"};
  for (const std::string& objective : request.objectives)
    if (std::ranges::find(kObjectives, objective) == std::end(kObjectives))
      return bad_request(objective,
                         fmt::format("no objective; there are {}", fmt::join(kObjectives, ", ")));
  if (request.objectives.empty()) return bad_request("", "name an objective");
  if (request.directory.empty()) return bad_request("", "name a directory for what is found");
  if (request.quality == "magnitude" && !request.side_shares.empty())
    return bad_request("sides",
                       "the magnitude of weights says nothing of the side of the image; choose "
                       "fidelity or a quality command");
  if (request.method == "netadapt" && !request.max_latency_ms)
    return bad_request("netadapt", "it adapts to a latency; name it with --max-latency-ms");
  if (request.hybrid > 0 && request.hardware)
    return bad_request("hybrid", "with hardware in the loop everything is measured already");
  if (request.cost_model == "additive" && request.calibrate == 0)
    return bad_request("additive", "it is fitted to measurements of pruned networks; calibrate");
  if (request.evaluations < 8) return bad_request("evaluations", "8 at least");
  return {};
}

Result<Graph> load(const std::string& model) {
  std::error_code ignored;
  if (!std::filesystem::exists(model, ignored))
    if (const auto name = NetworkName::parse(model)) return build_network(*name);
  return read_model(model);
}

// What makes two searches one: everything that the result depends on.
std::string identity_of(const SearchRequest& request, const Graph& graph) {
  std::string options;
  for (const auto& [name, value] : request.options) options += fmt::format(" {}={}", name, value);
  return fmt::format("{} {} {}{}", graph_hash(graph), weights_hash(graph), request.device, options);
}
std::string settings_of(const SearchRequest& request) {
  return fmt::format(
      "{} {} ({}) {} {} population {} seed {} by {} ({}) {} {} sides {} share {} levels {} {} {} "
      "{} "
      "{} {}",
      request.method, request.hardware ? "hardware" : request.cost_model,
      fmt::join(request.objectives, ","), request.max_latency_ms.value_or(0),
      request.max_ram_bytes.value_or(0), request.population, request.seed, request.quality,
      fmt::join(request.quality_command, " "), request.calibration_inputs.string(),
      request.calibration_sets, fmt::join(request.side_shares, ","), request.least_share,
      request.levels, request.drop_blocks, request.snap, request.hybrid, request.calibrate,
      request.predictor);
}

class Search {
 public:
  Search(const Context& context, const SearchRequest& request)
      : context_(context), request_(request), start_(Clock::now()) {}

  Result<SearchReport> run() {
    EDGESAGE_RETURN_IF_ERROR(check(request_));
    std::error_code error;
    std::filesystem::create_directories(request_.directory, error);
    if (error) return bad_request(request_.directory.string(), error.message());
    EDGESAGE_ASSIGN_OR_RETURN(Graph graph, load(request_.model));
    identity_ = identity_of(request_, graph);
    EDGESAGE_ASSIGN_OR_RETURN(
        space_, PruningSpace::make(std::move(graph), {request_.least_share, request_.levels,
                                                      request_.side_shares, request_.drop_blocks}));
    EDGESAGE_ASSIGN_OR_RETURN(costing_, SearchCosting::make(context_, request_, identity_));
    if (request_.calibrate > 0 && !request_.hardware) {
      const Status calibrated = costing_->calibrate(*space_);
      if (!calibrated && context_.stop_wanted()) return stopped();
      EDGESAGE_RETURN_IF_ERROR(calibrated);
    }
    if (request_.snap && costing_->has_predictor()) EDGESAGE_RETURN_IF_ERROR(snap());
    EDGESAGE_RETURN_IF_ERROR(costing_->prepare(*space_));
    EDGESAGE_RETURN_IF_ERROR(request_.method == "netadapt" ? adapt() : evolve());
    return finish();
  }

 private:
  Result<SearchReport> stopped() {
    report_.stopped = true;
    return finish_head();
  }

  // Widths become those at which the device's time changes.
  Status snap() {
    constexpr int32_t kMostSampled = 64;
    std::vector<std::vector<int32_t>> chosen(space_->genes().size());
    for (size_t g = 0; g < space_->genes().size(); ++g) {
      const PruningGene& gene = space_->genes()[g];
      if (gene.kind != PruningGene::Kind::kWidth) continue;
      space_->set_values(
          g, search::sampled_widths(gene.values.back(), gene.values.front(), kMostSampled));
    }
    const Genome base = space_->base();
    std::vector<Genome> genomes;
    for (size_t g = 0; g < base.size(); ++g)
      for (int32_t v = 0; v < space_->genes()[g].count(); ++v) {
        genomes.push_back(base);
        genomes.back()[g] = v;
      }
    EDGESAGE_ASSIGN_OR_RETURN(const std::vector<double> cost,
                              costing_->latencies(*space_, genomes));
    size_t at = 0;
    for (size_t g = 0; g < base.size(); ++g) {
      const PruningGene gene = space_->genes()[g];
      const auto count = static_cast<size_t>(gene.count());
      const std::vector<double> of_gene(cost.begin() + static_cast<ptrdiff_t>(at),
                                        cost.begin() + static_cast<ptrdiff_t>(at + count));
      at += count;
      if (gene.kind != PruningGene::Kind::kWidth) continue;
      const search::Staircase stairs = search::find_steps(gene.values, of_gene);
      space_->set_values(g, search::choose_steps(stairs, request_.levels));
      report_.staircases.push_back({g, stairs.widths, stairs.cost, stairs.steps});
    }
    return {};
  }

  // The original, and all widths at one level.
  std::vector<Genome> initial() const {
    constexpr int kLevels = 8;
    std::vector<Genome> genomes{space_->base()};
    for (int level = 0; level < kLevels; ++level) {
      Genome genome = space_->base();
      for (size_t g = 0; g < genome.size(); ++g)
        if (space_->genes()[g].kind == PruningGene::Kind::kWidth)
          genome[g] =
              static_cast<int32_t>(std::lround(static_cast<double>(genome[g]) * level / kLevels));
      if (std::ranges::find(genomes, genome) == genomes.end()) genomes.push_back(std::move(genome));
    }
    return genomes;
  }

  Status resume(search::SearchState& state) {
    const std::filesystem::path file = checkpoint();
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) return {};
    EDGESAGE_ASSIGN_OR_RETURN(const std::string text, read_text(file, ErrorCode::kBadStore));
    EDGESAGE_ASSIGN_OR_RETURN(const Json json,
                              parse_json(text, file.string(), ErrorCode::kBadStore));
    if (json_string(json, "identity") != identity_ ||
        json_string(json, "settings") != settings_of(request_))
      return bad_request(file.string(),
                         "is of another search (model, device or settings differ); name another "
                         "directory, or remove it");
    EDGESAGE_ASSIGN_OR_RETURN(
        state, search::state_from_json(json.value("state", Json::object()), file.string()));
    costing_->set_learnt(json.value("learnt", Json::array()));
    context_.tell(fmt::format("goes on after generation {}", state.generation));
    return {};
  }

  Status keep(const search::SearchState& state) const {
    return write_text(checkpoint(), to_text({{"identity", identity_},
                                             {"settings", settings_of(request_)},
                                             {"learnt", costing_->learnt()},
                                             {"state", search::state_to_json(state)}}) +
                                        "\n");
  }
  [[nodiscard]] std::filesystem::path checkpoint() const {
    return request_.directory / "search.json";
  }

  Status evolve() {
    search::Problem problem;
    for (const PruningGene& gene : space_->genes()) problem.counts.push_back(gene.count());
    problem.initial = initial();
    problem.evaluate =
        [&](std::span<const Genome> genomes) -> Result<std::vector<search::Outcome>> {
      if (request_.hybrid > 0)
        EDGESAGE_RETURN_IF_ERROR(costing_->learn_from(genomes, request_.hybrid));
      return costing_->outcomes(genomes);
    };
    EDGESAGE_RETURN_IF_ERROR(resume(state_));
    const search::Nsga2Options options{.population = request_.population,
                                       .evaluations = request_.evaluations,
                                       .seed = request_.seed,
                                       .random = request_.method == "random"};
    Status kept;
    EDGESAGE_RETURN_IF_ERROR(
        search::run_nsga2(problem, options, state_, [&](const search::SearchState& now) {
          kept = keep(now);
          const search::GenerationRecord& last = now.history.back();
          context_.report(now.evaluations, request_.evaluations,
                          fmt::format("generation {}, front {}, hypervolume {:.4g}",
                                      last.generation, last.front_size, last.hypervolume));
          report_.stopped = context_.stop_wanted();
          return kept.has_value() && !report_.stopped;
        }));
    EDGESAGE_RETURN_IF_ERROR(kept);
    for (const search::Individual& one : state_.front) front_.push_back(one.genome);
    return {};
  }

  Status adapt() {
    search::AdaptationProblem problem;
    for (const PruningGene& gene : space_->genes()) problem.counts.push_back(gene.count());
    problem.start = space_->base();
    problem.cost = [&](std::span<const Genome> genomes) -> Result<std::vector<double>> {
      std::vector<double> cost;
      EDGESAGE_ASSIGN_OR_RETURN(const auto all, costing_->all_costs(genomes));
      for (const search::Costs& costs : all) cost.push_back(costs.latency_ms.value_or(1e30));
      return cost;
    };
    problem.quality = [&](std::span<const Genome> genomes) -> Result<std::vector<double>> {
      std::vector<double> quality;
      for (const Genome& genome : genomes) {
        const auto answer = costing_->quality(genome);
        quality.push_back(answer ? *answer : -1e30);
      }
      return quality;
    };
    Status near;
    EDGESAGE_ASSIGN_OR_RETURN(
        const search::Adaptation adaptation,
        search::adapt_greedily(
            problem, {.target = *request_.max_latency_ms}, [&](const search::AdaptationStep& now) {
              context_.report(
                  0, 0, fmt::format("latency {:.4g} ms, quality {:.4g}", now.cost, now.quality));
              near = costing_->stay_near(now.genome);
              report_.stopped = context_.stop_wanted();
              return near.has_value() && !report_.stopped;
            }));
    EDGESAGE_RETURN_IF_ERROR(near);
    state_.evaluations = adaptation.cost_evaluations;
    report_.target_reached = adaptation.reached;
    for (const search::AdaptationStep& step : adaptation.steps) front_.push_back(step.genome);
    return {};
  }

  SearchReport finish_head() {
    report_.model = request_.model;
    report_.device = request_.device;
    report_.predictor_id = costing_->predictor_id();
    report_.method = request_.method + (request_.hardware     ? ", hardware in the loop"
                                        : request_.hybrid > 0 ? ", hybrid"
                                                              : "");
    report_.quality_by = request_.quality;
    report_.objectives = request_.objectives;
    report_.objectives.emplace_back("quality");
    report_.max_latency_ms = request_.max_latency_ms;
    report_.max_ram_bytes = request_.max_ram_bytes;
    report_.seed = request_.seed;
    report_.population = request_.population;
    report_.evaluations = state_.evaluations;
    report_.device_runs = costing_->device_runs();
    report_.device_seconds = costing_->device_seconds();
    report_.reference = state_.reference;
    for (const search::GenerationRecord& record : state_.history)
      report_.history.push_back(
          {record.generation, record.evaluations, record.front_size, record.hypervolume});
    report_.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    return report_;
  }

  Result<SearchReport> finish() {
    report_.genes = describe_genes(*space_);
    SearchPoints points(context_, request_, *space_, *costing_);
    EDGESAGE_ASSIGN_OR_RETURN(report_.original, points.describe(space_->base()));
    for (const Genome& genome : front_) {
      EDGESAGE_ASSIGN_OR_RETURN(SearchPoint point, points.describe(genome));
      report_.front.push_back(std::move(point));
    }
    EDGESAGE_RETURN_IF_ERROR(points.confirm_and_write(front_, report_));
    return finish_head();
  }

  const Context& context_;
  const SearchRequest& request_;
  Clock::time_point start_;
  std::string identity_;
  std::optional<PruningSpace> space_;
  std::unique_ptr<SearchCosting> costing_;
  search::SearchState state_;
  std::vector<Genome> front_;
  SearchReport report_;
};

}  // namespace

Result<SearchReport> search(const Context& context, const SearchRequest& request) {
  return Search(context, request).run();
}

}  // namespace edgesage::app
