#include "src/app/train.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>

namespace edgesage::app {
namespace {

std::string describe(const TrainingProgress& progress) {
  return fmt::format("epochs, member {} of {}, loss {:.4f}", progress.member, progress.members,
                     progress.loss);
}

}  // namespace

Result<TrainedPredictor> train(const Context& context, const TrainRequest& request) {
  const auto started = std::chrono::steady_clock::now();
  EDGESAGE_ASSIGN_OR_RETURN(LabelledNetworks labelled, load_labels(context, request.labels));
  if (!request.host_description.empty())
    labelled.source.host_description = request.host_description;
  labelled.source.threads = labelled.source.host_fingerprint.empty() ? 0 : 1;
  EDGESAGE_ASSIGN_OR_RETURN(const PredictorData data,
                            train_predictor(
                                labelled.dataset, labelled.source, request.training,
                                [&](const TrainingProgress& progress) {
                                  const int64_t epochs = progress.epochs;
                                  context.report((progress.member - 1) * epochs + progress.epoch,
                                                 progress.members * epochs, describe(progress));
                                },
                                context.stop));
  EDGESAGE_RETURN_IF_ERROR(save_predictor(data, request.output));
  // Reading it back proves the file, and gives the id.
  EDGESAGE_ASSIGN_OR_RETURN(const PredictorData written, load_predictor(request.output));
  TrainedPredictor out;
  out.file = request.output;
  out.id = written.id;
  out.device = written.device;
  for (const PredictedQuantity& quantity : written.quantities)
    out.quantities.push_back(quantity.name);
  out.networks = static_cast<int64_t>(labelled.dataset.examples.size());
  out.left_out = labelled.dataset.left_out;
  std::error_code ignored;
  out.file_bytes = static_cast<int64_t>(std::filesystem::file_size(request.output, ignored));
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return out;
}

}  // namespace edgesage::app
