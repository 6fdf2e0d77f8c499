#include "src/app/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "src/app/match_operators.h"
#include "src/app/predictors.h"
#include "src/base/text.h"

namespace edgesage::app {
namespace {

std::string dimensions(const std::vector<InspectedTensor>& tensors) {
  const auto found = std::ranges::find_if(tensors, [](const InspectedTensor& tensor) {
    return tensor.index >= 0 && !tensor.is_constant;
  });
  if (found == tensors.end()) return "?";
  if (!found->has_rank) return "unranked";
  if (found->shape.empty()) return "scalar";
  std::vector<std::string> sizes;
  for (const int64_t size : found->shape) sizes.push_back(size < 0 ? "?" : std::to_string(size));
  return join(sizes, "x");
}

std::string shape_of(const InspectedOperator& op) {
  return dimensions(op.inputs) + " -> " + dimensions(op.outputs);
}

// Operators of the main subgraph, which are the prediction's.
std::vector<InspectedOperator> main_operators(const Prediction& prediction) {
  std::vector<InspectedOperator> out;
  if (!prediction.inspection) return out;
  for (const InspectedOperator& op : prediction.inspection->operators)
    if (op.subgraph == 0) out.push_back(op);
  out.resize(std::min(out.size(), prediction.operators.size()));
  return out;
}

std::vector<OperatorPair> pair_operators(const Prediction& a, const Prediction& b) {
  const std::vector<InspectedOperator> a_ops = main_operators(a), b_ops = main_operators(b);
  std::vector<OperatorPair> pairs;
  for (const auto& [i, j] : match_operators(a_ops, b_ops)) {
    OperatorPair& pair = pairs.emplace_back();
    pair.a = i;
    pair.b = j;
    if (j >= 0) {
      const OperatorPrediction& op = b.operators[static_cast<size_t>(j)];
      pair.kind = op.kind;
      pair.name = op.name;
      pair.b_shape = shape_of(b_ops[static_cast<size_t>(j)]);
      pair.b_ms = op.latency_ms;
      pair.b_placement = op.placement;
      pair.b_macs = op.macs;
    }
    if (i >= 0) {
      const OperatorPrediction& op = a.operators[static_cast<size_t>(i)];
      pair.kind = op.kind;
      pair.name = op.name;
      pair.a_shape = shape_of(a_ops[static_cast<size_t>(i)]);
      pair.a_ms = op.latency_ms;
      pair.a_placement = op.placement;
      pair.a_macs = op.macs;
    }
    if (i < 0 || j < 0)
      pair.match = i < 0 ? Match::kOnlyB : Match::kOnlyA;
    else
      pair.match = is_same(a_ops[static_cast<size_t>(i)], b_ops[static_cast<size_t>(j)])
                       ? Match::kSame
                       : Match::kChanged;
  }
  return pairs;
}

std::vector<KindDifference> by_kind(const std::vector<OperatorPair>& pairs) {
  std::map<std::string, KindDifference> kinds;
  for (const OperatorPair& pair : pairs) {
    KindDifference& kind = kinds[pair.kind];
    kind.kind = pair.kind;
    kind.a_count += pair.a >= 0 ? 1 : 0;
    kind.b_count += pair.b >= 0 ? 1 : 0;
    kind.a_ms += pair.a_ms.value_or(0);
    kind.b_ms += pair.b_ms.value_or(0);
  }
  std::vector<KindDifference> out;
  for (const auto& [name, kind] : kinds) out.push_back(kind);
  std::ranges::stable_sort(out, std::greater{}, [](const KindDifference& kind) {
    return std::abs(kind.b_ms - kind.a_ms);
  });
  return out;
}

}  // namespace

Result<Comparison> compare(const Context& context, PredictRequest request) {
  request.inspect = true;
  if (request.models.size() == 1 && request.devices.size() == 1 && request.predictors.size() == 1) {
    EDGESAGE_ASSIGN_OR_RETURN(const std::filesystem::path installed,
                              find_predictor(context, request.devices.front()));
    request.predictors.insert(request.predictors.begin(), installed.string());
    request.devices.clear();
  }
  EDGESAGE_ASSIGN_OR_RETURN(const Answers<Prediction> answers, predict_models(context, request));
  if (answers.size() != 2)
    return make_error(ErrorCode::kInvalidArgument, "",
                      fmt::format("{} predictions to compare, not two; name two models and one "
                                  "device, or one model and two devices or predictors",
                                  answers.size()));
  for (const Answer<Prediction>& answer : answers)
    if (!answer.result) return tl::unexpected(answer.result.error());
  Comparison out{.a = *answers[0].result, .b = *answers[1].result, .operators = {}, .kinds = {}};
  out.operators = pair_operators(out.a, out.b);
  out.kinds = by_kind(out.operators);
  return out;
}

}  // namespace edgesage::app
