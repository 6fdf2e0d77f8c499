#include "src/learn/pruned_calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "src/base/rng.h"
#include "src/learn/choose.h"

namespace edgesage {
namespace {

constexpr const char* kSpace = "pruned";

Result<PricedPool> make_priced(const PruningSpace& space, const std::vector<Genome>& genomes,
                               const Target& target, std::span<const Quantity> quantities,
                               const PrunedCalibrationOptions& options,
                               const std::function<bool(int64_t, int64_t, const char*)>& progress) {
  std::vector<std::string> names;
  for (size_t i = 0; i < genomes.size(); ++i) names.push_back(fmt::format("{}/{}", kSpace, i));
  const auto build = [&](const std::string& name) -> Result<NamedGraph> {
    size_t index = 0;
    const size_t at = name.find('/') + 1;
    std::from_chars(name.data() + at, name.data() + name.size(), index);
    EDGESAGE_ASSIGN_OR_RETURN(Graph graph, space.build(genomes[index]));
    return NamedGraph{std::move(graph), kSpace};
  };
  EDGESAGE_ASSIGN_OR_RETURN(
      NetworkPool pool,
      make_pool(names, target, quantities, build, options.threads,
                [&](int64_t done, int64_t total) { progress(done, total, "building the pool"); }));
  return price_pool(std::move(pool), options.virtual_devices, options.seed, options.threads);
}

// Labels of the chosen networks; what fails is left out.
Result<PoolLabels> measure_chosen(
    const std::vector<Genome>& genomes, const std::vector<size_t>& genome_of,
    std::span<const size_t> chosen, DeviceEvaluator& device, size_t quantities,
    const std::function<bool(int64_t, int64_t, const char*)>& progress) {
  PoolLabels labels;
  labels.log_value.resize(quantities);
  for (size_t begin = 0; begin < chosen.size(); begin += device.batch()) {
    if (!progress(static_cast<int64_t>(begin), static_cast<int64_t>(chosen.size()),
                  "measuring pruned networks"))
      return make_error(ErrorCode::kDeviceFailed, "calibration", "stopped");
    const auto batch = chosen.subspan(begin, std::min(device.batch(), chosen.size() - begin));
    std::vector<Genome> asked;
    for (const size_t one : batch) asked.push_back(genomes[genome_of[one]]);
    EDGESAGE_ASSIGN_OR_RETURN(const auto answers, device.evaluate(asked));
    for (size_t i = 0; i < batch.size(); ++i) {
      const auto& answer = answers[i];
      if (!answer || !answer->latency_ms || *answer->latency_ms <= 0) continue;
      labels.network.push_back(batch[i]);
      labels.log_value[0].push_back(std::log(*answer->latency_ms));
      if (quantities > 1)
        labels.log_value[1].push_back(answer->peak_ram_bytes ? std::log(*answer->peak_ram_bytes)
                                                             : std::nan(""));
    }
  }
  return labels;
}

bool reports(const DeviceDescription& device, std::string_view quantity) {
  return std::ranges::find(device.quantities, quantity) != device.quantities.end();
}

}  // namespace

std::vector<Genome> spread_genomes(const PruningSpace& space, int64_t count, uint64_t seed) {
  std::vector<Genome> genomes{space.base(), Genome(space.genes().size(), 0)};
  Rng rng(seed, "spread genomes");
  for (size_t g = 0; g < genomes[1].size(); ++g)
    if (space.genes()[g].kind == PruningGene::Kind::kBlock) genomes[1][g] = 1;
  while (static_cast<int64_t>(genomes.size()) < count) {
    Genome genome;
    const double level = rng.uniform(), spread = rng.uniform(0.05, 0.6),
                 dropped = rng.chance(0.5) ? 0.0 : rng.uniform(0.0, 0.5);
    for (const PruningGene& gene : space.genes()) {
      if (gene.kind == PruningGene::Kind::kBlock) {
        genome.push_back(rng.chance(dropped) ? 0 : 1);
        continue;
      }
      const double share = std::clamp(level + spread * rng.uniform(-1, 1), 0.0, 1.0);
      genome.push_back(static_cast<int32_t>(std::lround(share * (gene.count() - 1))));
    }
    genomes.push_back(std::move(genome));
  }
  return genomes;
}

namespace {

// The pool with what was measured of it.
struct Measured {
  std::vector<Quantity> quantities;
  PricedPool priced;
  PoolLabels labels;
};

Result<Measured> measure_pruned(
    const PruningSpace& space, const Target& target, DeviceEvaluator& device,
    const PrunedCalibrationOptions& options,
    const std::function<bool(int64_t done, int64_t total, const char* what)>& progress) {
  const std::vector<Genome> genomes = spread_genomes(space, options.pool, options.seed);
  Measured measured;
  measured.quantities = {Quantity::kLatencyMs};
  if (reports(device.device(), "sram_bytes")) measured.quantities.push_back(Quantity::kSramBytes);
  EDGESAGE_ASSIGN_OR_RETURN(
      measured.priced, make_priced(space, genomes, target, measured.quantities, options, progress));
  const PricedPool& priced = measured.priced;
  std::vector<size_t> genome_of(priced.pool.size(), 0);
  for (size_t i = priced.pool.place.size(); i-- > 0;)
    if (priced.pool.place[i]) genome_of[*priced.pool.place[i]] = i;
  const std::vector<size_t> chosen = choose_first(
      priced.components(), static_cast<size_t>(options.budget), priced.space_of, options.seed);
  EDGESAGE_ASSIGN_OR_RETURN(measured.labels, measure_chosen(genomes, genome_of, chosen, device,
                                                            measured.quantities.size(), progress));
  if (measured.labels.network.size() * 2 < chosen.size())
    return make_error(ErrorCode::kDeviceFailed, device.device().name,
                      fmt::format("only {} of {} pruned networks could be measured",
                                  measured.labels.network.size(), chosen.size()));
  return measured;
}

}  // namespace

Result<PrunedCalibration> calibrate_on_pruned(
    const PruningSpace& space, const Target& target, DeviceEvaluator& device,
    const PrunedCalibrationOptions& options,
    const std::function<bool(int64_t done, int64_t total, const char* what)>& progress) {
  EDGESAGE_ASSIGN_OR_RETURN(const Measured measured,
                            measure_pruned(space, target, device, options, progress));
  CalibrateOptions learning;
  learning.threads = options.threads;
  learning.closed_form = target.is_ethos();
  learning.teach = options.teach;
  learning.teach.seed = options.seed;
  learning.teach.threads = options.threads;
  const auto quantities = static_cast<int64_t>(measured.quantities.size());
  std::vector<LearntQuantity> learnt;
  for (int64_t q = 0; q < quantities; ++q) {
    progress(q, quantities, "learning");
    EDGESAGE_ASSIGN_OR_RETURN(
        LearntQuantity one,
        learn_quantity(measured.priced, static_cast<size_t>(q), measured.labels, learning, false));
    learnt.push_back(std::move(one));
  }
  const LabelSource source{.device = device.device().name,
                           .runtime = device.device().runtime,
                           .runtime_version = {},
                           .statistic = device.device().statistic,
                           .host_fingerprint = {},
                           .host_description = {}};
  PrunedCalibration calibration;
  EDGESAGE_ASSIGN_OR_RETURN(calibration.predictor,
                            teach_from(measured.priced, learnt, measured.labels, source, learning,
                                       [&](const TrainingProgress& now) {
                                         progress(int64_t{now.member - 1} * now.epochs + now.epoch,
                                                  int64_t{now.members} * now.epochs, "teaching");
                                       }));
  calibration.labels = static_cast<int64_t>(measured.labels.network.size());
  calibration.held_out_median_ape = learnt.front().report.median_ape;
  return calibration;
}

Result<std::unique_ptr<Control>> fit_additive_on_pruned(
    const PruningSpace& space, const Target& target, DeviceEvaluator& device,
    const PrunedCalibrationOptions& options,
    const std::function<bool(int64_t done, int64_t total, const char* what)>& progress) {
  EDGESAGE_ASSIGN_OR_RETURN(Measured measured,
                            measure_pruned(space, target, device, options, progress));
  Dataset& dataset = measured.priced.pool.dataset;
  for (size_t i = 0; i < measured.labels.network.size(); ++i)
    dataset.examples[measured.labels.network[i]].labels[0] =
        std::exp(measured.labels.log_value[0][i]);
  return fit_control("additive", dataset, measured.labels.network, 0);
}

}  // namespace edgesage
