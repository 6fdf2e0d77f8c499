#include "src/nn/batch.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <span>

namespace edgesage::nn {
namespace {

template <class T>
void append_rows(const std::vector<T>& from, int64_t first, int64_t last, int64_t width,
                 std::vector<T>& to) {
  to.insert(to.end(), from.begin() + first * width, from.begin() + last * width);
}

void append_shifted(const std::vector<int32_t>& from, int64_t first, int64_t last, int32_t shift,
                    std::vector<int32_t>& to) {
  for (int64_t i = first; i < last; ++i) to.push_back(from[static_cast<size_t>(i)] + shift);
}

// `first` and `last` are nodes of `from`; `shift` moves its node numbers to those of `to`.
void append_edges(const Csr& from, int32_t first, int32_t last, int32_t shift, Csr& to) {
  const int32_t first_edge = from.offset[static_cast<size_t>(first)];
  const int32_t last_edge = from.offset[static_cast<size_t>(last)];
  const auto edges = static_cast<int32_t>(to.index.size());
  append_shifted(from.offset, int64_t{first} + 1, int64_t{last} + 1, edges - first_edge, to.offset);
  append_shifted(from.index, first_edge, last_edge, shift, to.index);
}

Status wrong(const char* field, const std::string& message) {
  return make_error(ErrorCode::kInvalidArgument, std::string("batch.") + field, message);
}

Status check_size(const char* field, size_t size, int64_t expected, bool optional = false) {
  if (static_cast<int64_t>(size) == expected || (optional && size == 0)) return {};
  return wrong(field, fmt::format("{} values given, {} expected", size, expected));
}

Status check_offsets(const char* field, std::span<const int32_t> offset) {
  if (offset.empty() || offset.front() != 0) return wrong(field, "does not start with 0");
  for (size_t i = 1; i < offset.size(); ++i)
    if (offset[i] < offset[i - 1]) return wrong(field, fmt::format("decreases at {}", i));
  return {};
}

Status check_widths(const Batch& batch, const ModelConfig& config) {
  const auto check = [](const char* field, int32_t given, int32_t expected) -> Status {
    if (given == expected) return {};
    return wrong(field, fmt::format("{} given, the model has {}", given, expected));
  };
  EDGESAGE_RETURN_IF_ERROR(check("features", batch.features, config.features));
  EDGESAGE_RETURN_IF_ERROR(check("globals_width", batch.globals_width, config.globals));
  EDGESAGE_RETURN_IF_ERROR(check("columns", batch.columns, config.columns()));
  return check("quantities", batch.quantities, config.quantity_count());
}

Status check_sizes(const Batch& batch) {
  const int64_t nodes = batch.nodes(), graphs = batch.graphs();
  EDGESAGE_RETURN_IF_ERROR(check_size("op_graph_offset", batch.op_graph_offset.size(), graphs + 1));
  EDGESAGE_RETURN_IF_ERROR(
      check_size("globals", batch.globals.size(), graphs * batch.globals_width));
  EDGESAGE_RETURN_IF_ERROR(check_size("x", batch.x.size(), nodes * batch.features));
  EDGESAGE_RETURN_IF_ERROR(check_size("kind", batch.kind.size(), nodes));
  EDGESAGE_RETURN_IF_ERROR(check_size("log_prior", batch.log_prior.size(), nodes * batch.columns));
  EDGESAGE_RETURN_IF_ERROR(check_size("node_op", batch.node_op.size(), nodes));
  EDGESAGE_RETURN_IF_ERROR(
      check_size("log_total", batch.log_total.size(), graphs * batch.quantities, true));
  EDGESAGE_RETURN_IF_ERROR(check_size("weight", batch.weight.size(), graphs, true));
  return check_size("op_label", batch.op_label.size(),
                    int64_t{batch.operators()} * batch.quantities, true);
}

Status check_edges(const char* field, const Csr& csr, const Batch& batch) {
  EDGESAGE_RETURN_IF_ERROR(check_size(field, csr.offset.size(), int64_t{batch.nodes()} + 1));
  EDGESAGE_RETURN_IF_ERROR(check_offsets(field, csr.offset));
  EDGESAGE_RETURN_IF_ERROR(check_size(field, csr.index.size(), csr.offset.back()));
  for (size_t g = 0; g + 1 < batch.graph_offset.size(); ++g) {
    const int32_t first = batch.graph_offset[g], last = batch.graph_offset[g + 1];
    const int32_t last_edge = csr.offset[static_cast<size_t>(last)];
    for (int32_t e = csr.offset[static_cast<size_t>(first)]; e < last_edge; ++e) {
      const int32_t node = csr.index[static_cast<size_t>(e)];
      if (node < first || node >= last)
        return wrong(field, fmt::format("edge {} of graph {} leads to node {}, {} to {} allowed", e,
                                        g, node, first, last - 1));
    }
  }
  return {};
}

Status check_nodes(const Batch& batch, const ModelConfig& config) {
  for (size_t i = 0; i < batch.kind.size(); ++i)
    if (batch.kind[i] < 0 || batch.kind[i] >= config.kinds)
      return wrong("kind", fmt::format("node {} has kind {}, 0 to {} allowed", i, batch.kind[i],
                                       config.kinds - 1));
  for (size_t g = 0; g + 1 < batch.graph_offset.size(); ++g) {
    const int32_t first = batch.op_graph_offset[g], last = batch.op_graph_offset[g + 1];
    for (int32_t i = batch.graph_offset[g]; i < batch.graph_offset[g + 1]; ++i) {
      const int32_t op = batch.node_op[static_cast<size_t>(i)];
      if (op < first || op >= last)
        return wrong("node_op",
                     fmt::format("node {} of graph {} charges operator {}, {} to {} allowed", i, g,
                                 op, first, last - 1));
    }
  }
  return {};
}

Status check_values(const Batch& batch) {
  const auto all_finite = [](const char* field, std::span<const float> values) -> Status {
    for (size_t i = 0; i < values.size(); ++i)
      if (!std::isfinite(values[i]))
        return wrong(field, fmt::format("value {} is {}", i, values[i]));
    return {};
  };
  EDGESAGE_RETURN_IF_ERROR(all_finite("x", batch.x));
  EDGESAGE_RETURN_IF_ERROR(all_finite("globals", batch.globals));
  EDGESAGE_RETURN_IF_ERROR(all_finite("weight", batch.weight));
  for (size_t i = 0; i < batch.log_prior.size(); ++i)
    if (!(batch.log_prior[i] < std::numeric_limits<float>::infinity()))
      return wrong("log_prior",
                   fmt::format("value {} is {}; finite or -inf allowed", i, batch.log_prior[i]));
  for (size_t i = 0; i < batch.log_total.size(); ++i)
    if (std::isinf(batch.log_total[i]))
      return wrong("log_total",
                   fmt::format("value {} is {}; a label must be positive, NaN for none", i,
                               batch.log_total[i]));
  for (size_t i = 0; i < batch.op_label.size(); ++i)
    if (batch.op_label[i] < 0 || std::isinf(batch.op_label[i]))
      return wrong("op_label", fmt::format("value {} is {}; 0 or more allowed, NaN for none", i,
                                           batch.op_label[i]));
  return {};
}

}  // namespace

void Batch::clear() {
  for (std::vector<int32_t>* offset :
       {&graph_offset, &op_graph_offset, &producers.offset, &consumers.offset})
    offset->assign(1, 0);
  for (std::vector<int32_t>* values : {&kind, &node_op, &producers.index, &consumers.index})
    values->clear();
  for (std::vector<float>* values : {&globals, &x, &log_prior, &log_total, &weight, &op_label})
    values->clear();
}

void append_graph(const Batch& from, int32_t graph, Batch& to) {
  if (to.graphs() == 0) {
    to.features = from.features;
    to.globals_width = from.globals_width;
    to.columns = from.columns;
    to.quantities = from.quantities;
  }
  const auto g = static_cast<size_t>(graph);
  const int32_t first = from.graph_offset[g], last = from.graph_offset[g + 1];
  const int32_t first_op = from.op_graph_offset[g], last_op = from.op_graph_offset[g + 1];
  const int32_t node_shift = to.nodes() - first, op_shift = to.operators() - first_op;
  append_rows(from.globals, graph, graph + 1, from.globals_width, to.globals);
  append_rows(from.x, first, last, from.features, to.x);
  append_rows(from.kind, first, last, 1, to.kind);
  append_edges(from.producers, first, last, node_shift, to.producers);
  append_edges(from.consumers, first, last, node_shift, to.consumers);
  append_rows(from.log_prior, first, last, from.columns, to.log_prior);
  append_shifted(from.node_op, first, last, op_shift, to.node_op);
  if (!from.log_total.empty())
    append_rows(from.log_total, graph, graph + 1, from.quantities, to.log_total);
  if (!from.weight.empty()) append_rows(from.weight, graph, graph + 1, 1, to.weight);
  if (!from.op_label.empty())
    append_rows(from.op_label, first_op, last_op, from.quantities, to.op_label);
  to.graph_offset.push_back(last + node_shift);
  to.op_graph_offset.push_back(last_op + op_shift);
}

Status validate(const Batch& batch, const ModelConfig& config) {
  EDGESAGE_RETURN_IF_ERROR(check_widths(batch, config));
  EDGESAGE_RETURN_IF_ERROR(check_offsets("graph_offset", batch.graph_offset));
  EDGESAGE_RETURN_IF_ERROR(check_offsets("op_graph_offset", batch.op_graph_offset));
  EDGESAGE_RETURN_IF_ERROR(check_sizes(batch));
  EDGESAGE_RETURN_IF_ERROR(check_edges("producers", batch.producers, batch));
  EDGESAGE_RETURN_IF_ERROR(check_edges("consumers", batch.consumers, batch));
  EDGESAGE_RETURN_IF_ERROR(check_nodes(batch, config));
  return check_values(batch);
}

}  // namespace edgesage::nn
