// The ensemble's answer in numbers, and the memory that a prediction reuses.
#pragma once

#include <vector>

#include "src/analysis/ethos_block_memo.h"
#include "src/nn/batch.h"
#include "src/nn/workspace.h"

namespace edgesage {

// The ensemble's answer before it is put into words.
struct Estimate {
  std::vector<double> value;     // a quantity; geometric mean of the members
  std::vector<float> spread;     // a quantity: standard deviation of the members' logarithms
  std::vector<double> overhead;  // a quantity; operators and overhead sum to the value
  std::vector<std::vector<double>> operators;  // quantity, operator
};

// Everything that predictions write to. It grows with the largest graph seen; after that a
// prediction from GraphTensors allocates nothing. One workspace serves one call at a time and any
// number of predictors, one after the other. Contents are the predictor's.
struct PredictWorkspace {
  nn::Batch batch;
  nn::Workspace network;
  Estimate estimate;
  std::vector<double> squares;  // a quantity: sum of the members' squared logarithms
  EthosBlockMemo blocks;        // of predictions from graphs
};

// Gathers the members' answers for one graph. Shares are averaged, not costs, so that operators and
// overhead sum to the geometric mean of the totals. Allocates only to grow.
//
//   EnsembleMean mean(members, quantities, operators, estimate, squares);
//   for each member: mean.add(totals, overhead, operator costs);
//   mean.finish();
class EnsembleMean {
 public:
  EnsembleMean(size_t members, size_t quantities, size_t operators, Estimate& out,
               std::vector<double>& squares);
  // One member: totals and overhead a quantity, costs operator by operator with a quantity each.
  void add(const double* totals, const double* overhead, const double* op_costs);
  void finish();

 private:
  double members_;
  size_t quantities_, operators_;
  Estimate& out_;
  std::vector<double>& squares_;
};

}  // namespace edgesage
