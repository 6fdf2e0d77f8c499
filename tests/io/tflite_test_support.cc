#include "tests/io/tflite_test_support.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/base/file.h"
#include "src/io/model_file.h"

namespace edgesage::test {
namespace {

class Differ {
 public:
  Differ(const Graph& left, const Graph& right, const Comparison& comparison)
      : left_(left), right_(right), comparison_(comparison) {}

  std::string run() {
    if (left_.description != right_.description) return "description";
    if (left_.subgraphs.size() != right_.subgraphs.size()) return "number of subgraphs";
    for (size_t i = 0; i < left_.subgraphs.size(); ++i) {
      const std::string what = subgraph(left_.subgraphs[i], right_.subgraphs[i]);
      if (!what.empty()) return fmt::format("subgraph {}, {}", i, what);
    }
    return signatures_and_metadata();
  }

 private:
  static bool same_bytes(std::span<const std::byte> left, std::span<const std::byte> right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end());
  }
  // Bit by bit, so that NaN equals itself.
  static bool same_floats(const std::vector<float>& left, const std::vector<float>& right) {
    return same_bytes(std::as_bytes(std::span(left)), std::as_bytes(std::span(right)));
  }

  [[nodiscard]] std::string quantization(const Quantization& left,
                                         const Quantization& right) const {
    if (!same_floats(left.scale, right.scale)) return "scale";
    if (left.zero_point != right.zero_point) return "zero_point";
    if (!same_floats(left.min, right.min) || !same_floats(left.max, right.max)) return "min or max";
    if (left.axis != right.axis) return "axis";
    if (left.block_scales != right.block_scales ||
        left.block_zero_points != right.block_zero_points || left.block_size != right.block_size ||
        left.block_shape != right.block_shape || left.block_axes != right.block_axes)
      return "blocks";
    return left.custom == right.custom ? "" : "custom quantization";
  }

  static std::string sparsity(const std::optional<Sparsity>& left,
                              const std::optional<Sparsity>& right) {
    if (left.has_value() != right.has_value()) return "sparsity";
    if (!left) return "";
    const auto same_dimension = [](const SparseDimension& a, const SparseDimension& b) {
      return a.is_csr == b.is_csr && a.dense_size == b.dense_size && a.segments == b.segments &&
             a.indices == b.indices && a.segments_width == b.segments_width &&
             a.indices_width == b.indices_width;
    };
    const bool same =
        left->traversal_order == right->traversal_order && left->block_map == right->block_map &&
        std::equal(left->dimensions.begin(), left->dimensions.end(), right->dimensions.begin(),
                   right->dimensions.end(), same_dimension);
    return same ? "" : "sparsity";
  }

  [[nodiscard]] std::string tensor(const Tensor& left, const Tensor& right) const {
    if (comparison_.names && left.name != right.name) return "name";
    if (left.type != right.type) return "type";
    if (left.has_rank != right.has_rank || left.shape != right.shape) return "shape";
    if (left.shape_signature != right.shape_signature) return "shape_signature";
    if (left.is_variable != right.is_variable) return "is_variable";
    if (left.is_constant() != right.is_constant()) return "being a constant";
    if (!same_bytes(left_.constant(left), right_.constant(right))) return "data";
    if (left.variant_tensors.size() != right.variant_tensors.size()) return "variant_tensors";
    for (size_t i = 0; i < left.variant_tensors.size(); ++i)
      if (!tensor(left.variant_tensors[i], right.variant_tensors[i]).empty())
        return "variant_tensors";
    const std::string what = quantization(left.quantization, right.quantization);
    return what.empty() ? sparsity(left.sparsity, right.sparsity) : what;
  }

  static std::string operation(const Operator& left, const Operator& right) {
    if (left.kind != right.kind || left.custom_code != right.custom_code) return "kind";
    if (left.version != right.version) return "version";
    if (left.inputs != right.inputs) return "inputs";
    if (left.outputs != right.outputs) return "outputs";
    if (left.intermediates != right.intermediates) return "intermediates";
    if (left.attributes != right.attributes) return "attributes";
    if (left.custom_options != right.custom_options) return "custom_options";
    if (left.mutating_variable_inputs != right.mutating_variable_inputs) return "mutating inputs";
    if (left.has_unknown_options != right.has_unknown_options) return "has_unknown_options";
    return left.omits_options == right.omits_options ? "" : "omits_options";
  }

  [[nodiscard]] std::string subgraph(const Subgraph& left, const Subgraph& right) const {
    if (comparison_.names && left.name != right.name) return "name";
    if (left.inputs != right.inputs || left.outputs != right.outputs) return "inputs or outputs";
    if (left.tensors.size() != right.tensors.size()) return "number of tensors";
    if (left.operators.size() != right.operators.size()) return "number of operators";
    for (size_t i = 0; i < left.tensors.size(); ++i) {
      const std::string what = tensor(left.tensors[i], right.tensors[i]);
      if (!what.empty()) return fmt::format("tensor {}, {}", i, what);
    }
    for (size_t i = 0; i < left.operators.size(); ++i) {
      const std::string what = operation(left.operators[i], right.operators[i]);
      if (!what.empty()) return fmt::format("operator {}, {}", i, what);
    }
    return "";
  }

  static bool same_ports(const std::vector<Signature::Port>& left,
                         const std::vector<Signature::Port>& right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [](const Signature::Port& a, const Signature::Port& b) {
                        return a.name == b.name && a.tensor == b.tensor;
                      });
  }

  [[nodiscard]] std::string signatures_and_metadata() const {
    const bool same_signatures =
        std::equal(left_.signatures.begin(), left_.signatures.end(), right_.signatures.begin(),
                   right_.signatures.end(), [](const Signature& a, const Signature& b) {
                     return a.key == b.key && a.subgraph == b.subgraph &&
                            same_ports(a.inputs, b.inputs) && same_ports(a.outputs, b.outputs);
                   });
    if (!same_signatures) return "signatures";
    const auto data = [](const Graph& graph, const Metadata& entry) {
      return graph.buffers[static_cast<size_t>(entry.buffer)].data;
    };
    const bool same_metadata =
        std::equal(left_.metadata.begin(), left_.metadata.end(), right_.metadata.begin(),
                   right_.metadata.end(), [&](const Metadata& a, const Metadata& b) {
                     return a.name == b.name && same_bytes(data(left_, a), data(right_, b));
                   });
    return same_metadata ? "" : "metadata";
  }

  const Graph& left_;
  const Graph& right_;
  Comparison comparison_;
};

}  // namespace

std::string first_difference(const Graph& left, const Graph& right, const Comparison& comparison) {
  return Differ(left, right, comparison).run();
}

Result<Graph> read_bytes(std::span<const std::byte> bytes) {
  const TempDir dir;
  const std::filesystem::path path = dir.path() / "model.tflite";
  EDGESAGE_RETURN_IF_ERROR(write_file(path, bytes));
  return read_model(path);
}

Result<Graph> read_bytes(std::string_view bytes) {
  return read_bytes(std::as_bytes(std::span(bytes)));
}

std::vector<std::byte> file_bytes(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path, ErrorCode::kBadModel);
  if (!file) return {};
  return {(*file)->bytes().begin(), (*file)->bytes().end()};
}

Graph small_convolution() {
  Graph graph;
  graph.description = "one convolution";
  const std::vector<int8_t> weights = {1, -2, 3, -4, 5, -6};
  const std::vector<int32_t> bias = {10, -20, 30};
  graph.buffers = {make_buffer(std::as_bytes(std::span(weights))),
                   make_buffer(std::as_bytes(std::span(bias)))};
  const auto tensor = [](std::string name, DataType type, std::vector<int64_t> shape,
                         std::vector<float> scale) {
    Tensor made;
    made.name = std::move(name);
    made.type = type;
    made.shape = std::move(shape);
    made.quantization.zero_point.assign(scale.size(), 0);
    made.quantization.scale = std::move(scale);
    return made;
  };
  Subgraph& subgraph = graph.subgraphs.emplace_back();
  subgraph.name = "main";
  subgraph.tensors = {tensor("in", DataType::kInt8, {1, 4, 4, 2}, {0.5F}),
                      tensor("weights", DataType::kInt8, {3, 1, 1, 2}, {0.25F, 0.5F, 0.125F}),
                      tensor("bias", DataType::kInt32, {3}, {0.125F, 0.25F, 0.0625F}),
                      tensor("out", DataType::kInt8, {1, 4, 4, 3}, {1.0F})};
  subgraph.tensors[1].buffer = 0;
  subgraph.tensors[2].buffer = 1;
  subgraph.inputs = {0};
  subgraph.outputs = {3};
  Operator& op = subgraph.operators.emplace_back();
  op.kind = OpKind::kConv2D;
  op.version = 3;
  op.inputs = {0, 1, 2};
  op.outputs = {3};
  op.attributes = {{"padding", int64_t{1}},
                   {"stride_w", int64_t{1}},
                   {"stride_h", int64_t{1}},
                   {"fused_activation_function", int64_t{1}}};
  return graph;
}

std::vector<IndexedModel> tflite_models(const std::filesystem::path& data_dir) {
  std::vector<IndexedModel> models = indexed_models(data_dir);
  std::erase_if(models, [](const IndexedModel& model) { return model.kind != "tflite"; });
  return models;
}

}  // namespace edgesage::test
