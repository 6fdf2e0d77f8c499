#include "src/nn/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace edgesage::nn {

Model::Model(ModelConfig config)
    : config_(std::move(config)), layout_(config_), parameters_(static_cast<size_t>(layout_.size)) {
  initialise(config_, layout_, {parameters_.data(), parameters_.size()});
  pack_all();
}

Result<Model> Model::create(ModelConfig config) {
  EDGESAGE_RETURN_IF_ERROR(validate(config));
  return Model(std::move(config));
}

Status Model::set_parameters(std::span<const float> parameters) {
  if (parameters.size() != parameters_.size())
    return make_error(
        ErrorCode::kInvalidArgument, "parameters",
        fmt::format("{} given, the model has {}", parameters.size(), parameters_.size()));
  const auto bad = std::find_if_not(parameters.begin(), parameters.end(),
                                    [](float value) { return std::isfinite(value); });
  if (bad != parameters.end())
    return make_error(ErrorCode::kInvalidArgument, "parameters",
                      fmt::format("number {} is {}", bad - parameters.begin(), *bad));
  std::copy(parameters.begin(), parameters.end(), parameters_.begin());
  pack_all();
  return {};
}

void Model::pack_all() {
  pack(layout_, parameters_.data(), packed_);
  if (precision_ == Precision::kBfloat16) {
    pack(layout_, parameters_.data(), rounded_);
  } else {
    rounded_ = {};
  }
}

void Model::set_precision(Precision precision) {
  precision_ = precision;
  pack_all();
}

const Outputs& Model::predict(const Batch& batch, Workspace& workspace) const {
  Network used = network();
  if (precision_ == Precision::kBfloat16) used.rounded = &rounded_;
  infer(used, batch, workspace);
  return workspace.outputs;
}

}  // namespace edgesage::nn
