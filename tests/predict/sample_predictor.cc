#include "tests/predict/sample_predictor.h"

#include "src/base/rng.h"
#include "src/features/feature_table.h"
#include "src/nn/model.h"
#include "src/predict/tensors_to_batch.h"

namespace edgesage::test {

PredictorData sample_predictor(int members) {
  PredictorData data;
  data.device = data.target = "ethos-u55-256";
  data.runtime = "vela";
  data.runtime_version = "5.2.0";
  data.statistic = "estimate";
  data.node_normaliser.mean.assign(node_features().size(), 1.0F);
  data.node_normaliser.scale.assign(node_features().size(), 0.25F);
  data.global_normaliser.mean.assign(global_features().size(), 5.0F);
  data.global_normaliser.scale.assign(global_features().size(), 0.2F);
  data.embedding = 4;
  data.hidden = 16;
  data.layers = 2;
  PredictedQuantity latency;
  latency.name = "latency_ms";
  latency.readout = static_cast<int>(nn::ReadOut::kSum);
  latency.node_labels = true;
  latency.log_offset = 0.1F;
  latency.overhead_scale = 1e-4F;
  latency.levels = {0.5F, 0.8F, 0.9F, 0.95F};
  latency.widths = {0.5F, 1.0F, 1.5F, 2.0F};
  latency.base_spread = 0.02F;
  PredictedQuantity sram = latency;
  sram.name = "sram_bytes";
  sram.readout = static_cast<int>(nn::ReadOut::kMax);
  sram.node_labels = false;
  sram.overhead_scale = 0;
  data.quantities = {latency, sram};
  data.range.operators = {"CONV_2D int8", "SOFTMAX int8"};
  for (const char* kind : {"conv_2d", "activation"})
    data.range.kinds.push_back(
        {kind, 12, std::vector<float>(14, 0.0F), std::vector<float>(14, 9.0F)});
  data.range.global_low.assign(global_features().size(), 0.0F);
  data.range.global_high.assign(global_features().size(), 30.0F);
  data.range.max_spread = {0.5F, 0.5F};
  data.facts = R"({"training_networks":12})";
  for (int m = 0; m < members; ++m) {
    nn::ModelConfig config = model_config(data);
    config.seed = static_cast<uint64_t>(m) + 1;
    const nn::Model model = *nn::Model::create(config);
    data.members.emplace_back(model.parameters().begin(), model.parameters().end());
  }
  return data;
}

PredictorData lively_predictor(int members, int hidden, int layers) {
  PredictorData data = sample_predictor(0);
  data.hidden = hidden;
  data.layers = layers;
  Rng rng(static_cast<uint64_t>(members));
  for (int m = 0; m < members; ++m) {
    nn::ModelConfig config = model_config(data);
    config.seed = static_cast<uint64_t>(m) + 1;
    const nn::Model model = *nn::Model::create(config);
    std::vector<float>& parameters =
        data.members.emplace_back(model.parameters().begin(), model.parameters().end());
    for (float& parameter : parameters) parameter += 0.05F * static_cast<float>(rng.normal());
  }
  return data;
}

}  // namespace edgesage::test
