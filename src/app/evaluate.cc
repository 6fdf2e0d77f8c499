#include "src/app/evaluate.h"

#include <fmt/format.h>

#include "src/app/accuracy_row.h"
#include "src/app/predictors.h"
#include "src/base/json.h"
#include "src/learn/evaluate.h"

namespace edgesage::app {
namespace {

// With another split than that of the training, networks that it was trained on would count as
// never seen.
Status check_split(const PredictorData& data, const SplitOptions& split) {
  EDGESAGE_ASSIGN_OR_RETURN(const Json facts,
                            parse_json(data.facts, data.device, ErrorCode::kBadStore));
  const Json trained = facts.value("split", Json::object());
  const double test = json_number(trained, "test", split.test);
  const double calibration = json_number(trained, "calibration", split.calibration);
  const int64_t seed = json_int(trained, "seed", static_cast<int64_t>(split.seed));
  if (test == split.test && calibration == split.calibration &&
      static_cast<uint64_t>(seed) == split.seed)
    return {};
  return make_error(ErrorCode::kInvalidArgument, data.device,
                    fmt::format("the predictor was trained on another split: give --split-seed {} "
                                "--test-share {} --calibration-share {}",
                                seed, test, calibration));
}

}  // namespace

Result<AccuracyTable> evaluate(const Context& context, const EvaluateRequest& request) {
  // Before the networks are built, which takes a while.
  std::filesystem::path file = request.predictor;
  if (file.empty()) {
    EDGESAGE_ASSIGN_OR_RETURN(const std::string device, device_of_labels(request.labels));
    EDGESAGE_ASSIGN_OR_RETURN(file, find_predictor(context, device));
  }
  EDGESAGE_ASSIGN_OR_RETURN(
      const Predictor predictor,
      Predictor::load(file, request.bfloat16 ? nn::Precision::kBfloat16 : nn::Precision::kFloat32));
  EDGESAGE_RETURN_IF_ERROR(check_split(predictor.data(), request.split));
  EDGESAGE_ASSIGN_OR_RETURN(const LabelledNetworks labelled, load_labels(context, request.labels));
  const Evaluation evaluation =
      evaluate_predictor(predictor, labelled.dataset, request.split, request.labels.threads);
  AccuracyTable table;
  for (const EvaluationRow& row : evaluation.rows) table.rows.push_back(to_public(row));
  for (const AttributionRow& row : evaluation.attribution)
    table.attribution.push_back({row.device, row.space, static_cast<int64_t>(row.n),
                                 100 * row.misplaced_share, 100 * row.median_operator_ape});
  for (const auto& worst : evaluation.worst)
    table.worst.push_back({worst.name, worst.quantity, worst.truth, worst.predicted});
  table.networks = evaluation.networks;
  table.test_networks = static_cast<int64_t>(evaluation.test_networks);
  table.left_out = static_cast<int64_t>(evaluation.left_out);
  return table;
}

}  // namespace edgesage::app
