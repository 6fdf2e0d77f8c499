#include "src/app/compression_stairs.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/learn/predictor_evaluator.h"
#include "src/search/staircase.h"

namespace edgesage::app {
namespace {

constexpr int32_t kWidths = 24;

// Genes by how much of the latency their narrowest width saves, most first.
Result<std::vector<size_t>> steepest(const PruningSpace& space, PredictorEvaluator& predicted,
                                     size_t groups) {
  std::vector<size_t> genes;
  std::vector<Genome> narrowest;
  for (size_t g = 0; g < space.genes().size(); ++g) {
    if (space.genes()[g].kind != PruningGene::Kind::kWidth) continue;
    genes.push_back(g);
    narrowest.push_back(space.base());
    narrowest.back()[g] = 0;
  }
  EDGESAGE_ASSIGN_OR_RETURN(const auto answers, predicted.evaluate(narrowest));
  std::vector<std::pair<double, size_t>> order;
  for (size_t i = 0; i < genes.size(); ++i)
    if (answers[i] && answers[i]->latency_ms) order.emplace_back(*answers[i]->latency_ms, genes[i]);
  std::ranges::sort(order);
  if (order.size() > groups) order.resize(groups);
  genes.clear();
  for (const auto& [latency, gene] : order) genes.push_back(gene);
  return genes;
}

Result<CompressionStaircase> one_staircase(const Context& context, PruningSpace space, size_t gene,
                                           const Predictor& predictor, DeviceEvaluator& device) {
  const int32_t width = space.genes()[gene].values.back();
  std::vector<int32_t> widths;
  for (int32_t w = std::max(1, width - kWidths + 1); w <= width; ++w) widths.push_back(w);
  space.set_values(gene, widths);
  std::vector<Genome> genomes(widths.size(), space.base());
  for (size_t w = 0; w < widths.size(); ++w) genomes[w][gene] = static_cast<int32_t>(w);
  PredictorEvaluator predicted(predictor, {});
  EDGESAGE_RETURN_IF_ERROR(predicted.prepare(space));
  EDGESAGE_ASSIGN_OR_RETURN(const auto foretold, predicted.evaluate(genomes));
  EDGESAGE_RETURN_IF_ERROR(device.prepare(space));
  CompressionStaircase stairs;
  stairs.group = space.genes()[gene].name;
  for (size_t begin = 0; begin < genomes.size(); begin += device.batch()) {
    if (context.stop_wanted())
      return make_error(ErrorCode::kInvalidArgument, stairs.group, "stopped");
    context.report(static_cast<int64_t>(begin), static_cast<int64_t>(genomes.size()),
                   "measuring a staircase");
    const size_t count = std::min(device.batch(), genomes.size() - begin);
    EDGESAGE_ASSIGN_OR_RETURN(const auto answers, device.evaluate({genomes.data() + begin, count}));
    for (size_t i = 0; i < count; ++i) {
      const auto& said = foretold[begin + i];
      if (!answers[i] || !answers[i]->latency_ms || !said || !said->latency_ms) continue;
      stairs.widths.push_back(widths[begin + i]);
      stairs.predicted_ms.push_back(*said->latency_ms);
      stairs.measured_ms.push_back(*answers[i]->latency_ms);
    }
  }
  stairs.predicted_steps = search::find_steps(stairs.widths, stairs.predicted_ms).steps;
  stairs.measured_steps = search::find_steps(stairs.widths, stairs.measured_ms).steps;
  return stairs;
}

}  // namespace

Result<std::vector<CompressionStaircase>> compare_staircases(const Context& context,
                                                             const PruningSpace& space,
                                                             const Predictor& predictor,
                                                             DeviceEvaluator& device,
                                                             size_t groups) {
  PredictorEvaluator predicted(predictor, {});
  EDGESAGE_RETURN_IF_ERROR(predicted.prepare(space));
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<size_t> genes, steepest(space, predicted, groups));
  std::vector<CompressionStaircase> all;
  for (const size_t gene : genes) {
    EDGESAGE_ASSIGN_OR_RETURN(CompressionStaircase one,
                              one_staircase(context, space, gene, predictor, device));
    all.push_back(std::move(one));
  }
  EDGESAGE_RETURN_IF_ERROR(device.prepare(space));
  return all;
}

}  // namespace edgesage::app
