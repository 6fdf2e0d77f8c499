#include "src/app/train.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>

#include "src/app/training_report.h"
#include "src/base/text.h"
#include "src/predict/predictor.h"

namespace edgesage::app {
namespace {

// "member 2/4 epoch 13/80, loss 0.0123, latency_ms 1.9 %, 412 k nodes/s".
std::string describe(const TrainingProgress& progress, const FeatureFile& features) {
  std::string text = fmt::format("member {}/{} epoch {}/{}, loss {:.4f}", progress.member,
                                 progress.members, progress.epoch, progress.epochs, progress.loss);
  for (size_t q = 0; q < progress.log_error.size(); ++q)
    if (std::isfinite(progress.log_error[q]))
      text += fmt::format(", {} {:.1f} %", quantity_name(features.quantities()[q]),
                          100 * progress.log_error[q]);
  return text + fmt::format(", {} nodes/s", human_count(progress.nodes_per_second));
}

// Of a directory that is not there it is told before the training, not after it.
Status check_output(const std::string& output) {
  const std::filesystem::path folder = std::filesystem::path(output).parent_path();
  std::error_code ignored;
  if (folder.empty() || std::filesystem::is_directory(folder, ignored)) return {};
  return make_error(ErrorCode::kInvalidArgument, output,
                    fmt::format("there is no directory {}: make it first", folder.string()));
}

}  // namespace

Result<TrainedPredictor> train(const Context& context, const TrainRequest& request) {
  const auto started = std::chrono::steady_clock::now();
  EDGESAGE_RETURN_IF_ERROR(check_output(request.output));
  EDGESAGE_RETURN_IF_ERROR(check_output(request.report));
  EDGESAGE_ASSIGN_OR_RETURN(const FeatureFile features, load_features(context, request.labels));
  LabelSource source = features.origin().source;
  if (!request.host_description.empty()) source.host_description = request.host_description;
  source.threads = source.host_fingerprint.empty() ? 0 : 1;
  TrainingRun run;
  run.progress = [&](const TrainingProgress& progress) {
    context.report(progress.done, progress.total, describe(progress, features));
  };
  std::vector<TrainingEpoch> epochs;
  if (!request.report.empty())
    run.on_epoch = [&](const EpochErrors& errors) { epochs.push_back(to_public(errors)); };
  run.stop = context.stop;
  run.ranks = request.ranks;
  run.checkpoint = request.checkpoint;
  run.checkpoint_seconds = request.checkpoint_seconds;
  EDGESAGE_ASSIGN_OR_RETURN(const PredictorData data,
                            train_predictor(features, source, request.training, run));
  const bool is_first = request.ranks == nullptr || request.ranks->rank() == 0;
  if (is_first) EDGESAGE_RETURN_IF_ERROR(save_predictor(data, request.output));
  // Decoding it again proves the file, and gives the id.
  EDGESAGE_ASSIGN_OR_RETURN(const PredictorData written,
                            decode_predictor(encode_predictor(data), request.output));
  TrainedPredictor out;
  out.file = request.output;
  out.id = written.id;
  out.device = written.device;
  for (const PredictedQuantity& quantity : written.quantities)
    out.quantities.push_back(quantity.name);
  out.networks = static_cast<int64_t>(features.size());
  out.left_out = features.left_out();
  std::error_code ignored;
  if (!request.checkpoint.empty() && is_first) std::filesystem::remove(request.checkpoint, ignored);
  if (is_first)
    out.file_bytes = static_cast<int64_t>(std::filesystem::file_size(request.output, ignored));
  if (!request.report.empty() && is_first) {
    EDGESAGE_ASSIGN_OR_RETURN(const Predictor predictor, Predictor::from(written));
    out.report = report_training(features, predictor, request, std::move(epochs));
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return out;
}

}  // namespace edgesage::app
