// Candidates a second and core of a compression search, from the genome to its costs.
//
//   search_bench                             ResNet-50 with the shipped predictor, and its stages
//   search_bench --network=densenet169 --predictor=FILE --benchmark_filter=bred
//
// "drawn": every width and block at random, the case in which nothing is as it was. "bred": what a
// search asks for, from its first population on. "near": the anchor with one gene changed, as
// greedy adaptation and the staircase ask.
#include <benchmark/benchmark.h>

#include <cstring>
#include <iostream>
#include <memory>
#include <string>

#include "src/analysis/liveness.h"
#include "src/base/rng.h"
#include "src/features/extract.h"
#include "src/learn/predictor_evaluator.h"
#include "src/predict/predictor.h"
#include "src/search/nsga2.h"
#include "src/spaces/reference_networks.h"
#include "src/transform/pruning_shapes.h"
#include "src/transform/pruning_space.h"
#include "src/transform/weight_magnitude.h"

namespace edgesage {
namespace {

constexpr size_t kCandidates = 4096;  // none asked twice

struct Case {
  explicit Case(const std::string& name)
      : space(*PruningSpace::make(*build_reference(name), {})), kept(space) {}

  std::vector<Genome> drawn() const {
    Rng rng(1);
    std::vector<Genome> genomes(kCandidates);
    for (Genome& genome : genomes)
      for (const PruningGene& gene : space.genes())
        genome.push_back(gene.kind == PruningGene::Kind::kBlock && rng.chance(0.8)
                             ? 1
                             : static_cast<int32_t>(rng.integer(0, gene.count() - 1)));
    return genomes;
  }
  // All that a search asks for.
  std::vector<Genome> bred(PredictorEvaluator& costs) const {
    search::Problem problem;
    for (const PruningGene& gene : space.genes()) problem.counts.push_back(gene.count());
    std::vector<Genome> asked;
    problem.evaluate = [&](std::span<const Genome> genomes) {
      std::vector<search::Outcome> outcomes;
      const auto answers = costs.evaluate(genomes);
      for (size_t i = 0; i < genomes.size(); ++i)
        outcomes.push_back({{*(*answers)[i]->latency_ms, -kept(genomes[i])}, 0});
      asked.insert(asked.end(), genomes.begin(), genomes.end());
      return Result<std::vector<search::Outcome>>(std::move(outcomes));
    };
    search::SearchState state;
    (void)search::run_nsga2(problem, {.evaluations = kCandidates}, state,
                            [](const search::SearchState&) { return true; });
    return asked;
  }
  std::vector<Genome> near() const {
    Rng rng(1);
    std::vector<Genome> genomes(kCandidates, space.base());
    for (Genome& genome : genomes) {
      const auto gene =
          static_cast<size_t>(rng.integer(0, static_cast<int64_t>(genome.size()) - 1));
      genome[gene] = static_cast<int32_t>(rng.integer(0, space.genes()[gene].count() - 1));
    }
    return genomes;
  }

  PruningSpace space;
  KeptMagnitude kept;
};

void rate(benchmark::State& state, size_t candidates) {
  state.counters["candidates/s"] =
      benchmark::Counter(static_cast<double>(candidates) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}

void price(benchmark::State& state, const Predictor& predictor, const Case& network,
           const std::vector<Genome>& genomes) {
  for (auto _ : state) {
    // Anew each time: what is remembered of one candidate for the next counts, no more.
    PredictorEvaluator costs(predictor, {.threads = 1});
    if (!costs.prepare(network.space)) return state.SkipWithError("cannot be priced");
    benchmark::DoNotOptimize(costs.evaluate(genomes));
  }
  rate(state, genomes.size());
}

void add_stages(const Predictor& predictor, const std::string& name,
                const std::shared_ptr<Case>& network) {
  const auto add = [&](const char* stage, auto body) {
    benchmark::RegisterBenchmark((name + "/stage/" + stage).c_str(), [network, &predictor, body](
                                                                         benchmark::State& state) {
      const std::vector<Genome> genomes = network->drawn();
      PruningShapes shapes(network->space);
      size_t i = 0;
      for (auto _ : state) body(predictor, *network, shapes, genomes[i++ % genomes.size()], state);
    })->Unit(benchmark::kMicrosecond);
  };
  add("shapes", [](const Predictor&, const Case&, PruningShapes& shapes, const Genome& genome,
                   benchmark::State&) { benchmark::DoNotOptimize(shapes.at(genome)); });
  add("shapes_lower", [](const Predictor& p, const Case&, PruningShapes& shapes,
                         const Genome& genome, benchmark::State&) {
    benchmark::DoNotOptimize(lower(*shapes.at(genome)->graph, p.target()));
  });
  add("shapes_lower_features_typical_weights",
      [](const Predictor& p, const Case&, PruningShapes& shapes, const Genome& genome,
         benchmark::State&) {
        const PrunedShapes pruned = *shapes.at(genome);
        const Lowering lowering = lower(*pruned.graph, p.target());
        benchmark::DoNotOptimize(extract_features(*pruned.graph, lowering, p.quantities()));
      });
  add("forward", [](const Predictor& p, const Case&, PruningShapes& shapes, const Genome& genome,
                    benchmark::State& state) {
    state.PauseTiming();
    const PrunedShapes pruned = *shapes.at(genome);
    const Lowering lowering = lower(*pruned.graph, p.target());
    const GraphTensors tensors = extract_features(*pruned.graph, lowering, p.quantities());
    static PredictWorkspace workspace;
    state.ResumeTiming();
    benchmark::DoNotOptimize(&p.estimate(tensors, workspace));
  });
  add("kept_magnitude", [](const Predictor&, const Case& c, PruningShapes&, const Genome& genome,
                           benchmark::State&) { benchmark::DoNotOptimize(c.kept(genome)); });
}

void add_network(const Predictor& predictor, const std::string& name) {
  const auto network = std::make_shared<Case>(name);
  benchmark::RegisterBenchmark((name + "/drawn").c_str(), [=, &predictor](benchmark::State& state) {
    price(state, predictor, *network, network->drawn());
  })->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark((name + "/bred").c_str(), [=, &predictor](benchmark::State& state) {
    PredictorEvaluator costs(predictor, {.threads = 1});
    if (!costs.prepare(network->space)) return state.SkipWithError("cannot be priced");
    price(state, predictor, *network, network->bred(costs));
  })->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark((name + "/near").c_str(), [=, &predictor](benchmark::State& state) {
    price(state, predictor, *network, network->near());
  })->Unit(benchmark::kMillisecond);
  add_stages(predictor, name, network);
}

int run(int argc, char** argv) {
  std::string file = EDGESAGE_PREDICTOR;
  for (int i = 1; i < argc; ++i)
    if (std::strncmp(argv[i], "--predictor=", 12) == 0) file = argv[i] + 12;
  const Result<Predictor> predictor = Predictor::load(file);
  if (!predictor) {
    std::cerr << predictor.error().to_string() << '\n';
    return static_cast<int>(predictor.error().code);
  }
  benchmark::Initialize(&argc, argv);
  // One by one: making a network in full size takes a second.
  std::string filter = "resnet50";
  for (int i = 1; i < argc; ++i)
    if (std::strncmp(argv[i], "--network=", 10) == 0) filter = argv[i] + 10;
  add_network(*predictor, filter);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace edgesage

int main(int argc, char** argv) { return edgesage::run(argc, argv); }
