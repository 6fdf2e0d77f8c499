#include "src/search/greedy_adaptation.h"

#include <algorithm>

namespace edgesage::search {
namespace {

// For each gene the least change that brings the cost to `wanted`; where that is none, and no gene
// at all does, the change that brings most.
struct Proposals {
  std::vector<Genome> genomes;
  std::vector<double> cost;
  std::vector<int32_t> gene;
};

Result<Proposals> propose(const AdaptationProblem& problem, const AdaptationStep& now,
                          double wanted, int64_t& evaluations) {
  std::vector<Genome> all;
  std::vector<int32_t> gene_of;
  for (size_t gene = 0; gene < problem.counts.size(); ++gene)
    for (int32_t value = now.genome[gene] - 1; value >= 0; --value) {
      all.push_back(now.genome);
      all.back()[gene] = value;
      gene_of.push_back(static_cast<int32_t>(gene));
    }
  Proposals proposals;
  if (all.empty()) return proposals;
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<double> cost, problem.cost(all));
  evaluations += static_cast<int64_t>(all.size());
  std::vector<bool> served(problem.counts.size(), false);
  for (size_t i = 0; i < all.size(); ++i) {
    const auto gene = static_cast<size_t>(gene_of[i]);
    if (served[gene] || cost[i] > wanted) continue;
    served[gene] = true;
    proposals.genomes.push_back(all[i]);
    proposals.cost.push_back(cost[i]);
    proposals.gene.push_back(gene_of[i]);
  }
  if (!proposals.genomes.empty()) return proposals;
  const auto best = static_cast<size_t>(std::ranges::min_element(cost) - cost.begin());
  if (cost[best] < now.cost) {
    proposals.genomes.push_back(all[best]);
    proposals.cost.push_back(cost[best]);
    proposals.gene.push_back(gene_of[best]);
  }
  return proposals;
}

}  // namespace

Result<Adaptation> adapt_greedily(const AdaptationProblem& problem,
                                  const AdaptationOptions& options,
                                  const std::function<bool(const AdaptationStep&)>& after_step) {
  if (problem.start.size() != problem.counts.size() || problem.counts.empty())
    return make_error(ErrorCode::kInvalidArgument, "adaptation", "the start has other genes");
  Adaptation adaptation;
  const std::vector<Genome> start{problem.start};
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<double> cost, problem.cost(start));
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<double> quality, problem.quality(start));
  adaptation.cost_evaluations = adaptation.quality_evaluations = 1;
  adaptation.steps.push_back({problem.start, cost[0], quality[0], -1});
  double step = options.first_step * cost[0];
  while (adaptation.steps.back().cost > options.target && after_step(adaptation.steps.back())) {
    const AdaptationStep& now = adaptation.steps.back();
    const double wanted = std::max(options.target, now.cost - step);
    EDGESAGE_ASSIGN_OR_RETURN(const Proposals proposals,
                              propose(problem, now, wanted, adaptation.cost_evaluations));
    if (proposals.genomes.empty()) break;
    EDGESAGE_ASSIGN_OR_RETURN(const std::vector<double> qualities,
                              problem.quality(proposals.genomes));
    adaptation.quality_evaluations += static_cast<int64_t>(qualities.size());
    const auto best = static_cast<size_t>(std::ranges::max_element(qualities) - qualities.begin());
    adaptation.steps.push_back(
        {proposals.genomes[best], proposals.cost[best], qualities[best], proposals.gene[best]});
    step *= options.decay;
  }
  adaptation.reached = adaptation.steps.back().cost <= options.target;
  return adaptation;
}

}  // namespace edgesage::search
