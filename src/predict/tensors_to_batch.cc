#include "src/predict/tensors_to_batch.h"

#include "src/features/feature_table.h"

namespace edgesage {
namespace {

void append_edges(const Csr& from, int32_t first_node, nn::Csr& to) {
  for (const int32_t node : from.index) to.index.push_back(first_node + node);
  const int32_t base = to.offset.back();
  for (size_t i = 1; i < from.offset.size(); ++i) to.offset.push_back(base + from.offset[i]);
}

}  // namespace

nn::ReadOut read_out_of(Quantity quantity) {
  if (prior_columns(quantity) == 2) return nn::ReadOut::kMaxPlusSum;
  return is_maximum(quantity) ? nn::ReadOut::kMax : nn::ReadOut::kSum;
}

nn::ModelConfig model_config(const PredictorData& data) {
  nn::ModelConfig config;
  config.features = static_cast<int32_t>(node_features().size());
  config.kinds = static_cast<int32_t>(RowKind::kCount);
  config.embedding = data.embedding;
  config.globals = static_cast<int32_t>(global_features().size());
  config.hidden = data.hidden;
  config.layers = data.layers;
  for (const PredictedQuantity& quantity : data.quantities)
    config.quantities.push_back({quantity.name, static_cast<nn::ReadOut>(quantity.readout),
                                 quantity.node_labels,
                                 static_cast<double>(quantity.overhead_scale)});
  return config;
}

void append_log_priors(std::span<const float> log_prior, const PredictorData& data,
                       std::vector<float>& to) {
  size_t i = 0;
  while (i < log_prior.size())
    for (const PredictedQuantity& quantity : data.quantities)
      for (int32_t c = nn::columns_of(static_cast<nn::ReadOut>(quantity.readout));
           c > 0 && i < log_prior.size(); --c)
        to.push_back(log_prior[i++] + quantity.log_offset);
}

void append_tensors(const GraphTensors& tensors, const PredictorData& data, nn::Batch& batch) {
  const auto quantities = static_cast<int32_t>(data.quantities.size());
  if (batch.graphs() == 0) {
    batch.features = tensors.features;
    batch.globals_width = static_cast<int32_t>(tensors.globals.size());
    batch.columns = tensors.quantities;
    batch.quantities = quantities;
  }
  const int32_t first_node = batch.nodes();
  const int32_t first_op = batch.operators();
  const size_t x_begin = batch.x.size();
  batch.x.resize(x_begin + tensors.x.size());
  data.node_normaliser.apply(tensors.x, std::span(batch.x).subspan(x_begin));
  const size_t globals_begin = batch.globals.size();
  batch.globals.resize(globals_begin + tensors.globals.size());
  data.global_normaliser.apply(tensors.globals, std::span(batch.globals).subspan(globals_begin));
  batch.kind.insert(batch.kind.end(), tensors.kind.begin(), tensors.kind.end());
  append_log_priors(tensors.log_prior, data, batch.log_prior);
  for (const int32_t op : tensors.op) batch.node_op.push_back(first_op + op);
  append_edges(tensors.producers, first_node, batch.producers);
  append_edges(tensors.consumers, first_node, batch.consumers);
  batch.graph_offset.push_back(first_node + tensors.nodes);
  batch.op_graph_offset.push_back(first_op + tensors.operators);
}

}  // namespace edgesage
