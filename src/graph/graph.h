// Graph: the centre of edgesage. Readers, search spaces and transforms make Graphs; everything
// else reads them.
//
// A Graph is tables: buffers, and subgraphs of tensors and operators in SSA form. Each tensor has
// at most one producer and any number of consumers; a tensor without a producer is a graph input,
// a constant (it has a buffer) or a variable. The order of operators is the order of execution.
// Image tensors are NHWC. Edges are derived (`GraphIndex`).
//
// Plain data: copying a Graph copies its tables; bytes of buffers are shared through `storage`.
// Not synchronised: concurrent const use is safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/graph/data_type.h"
#include "src/graph/op_kind.h"

namespace edgesage {

inline constexpr int32_t kNoTensor = -1;  // an optional input or output that is left out
inline constexpr int32_t kNoBuffer = -1;

// Constant bytes, little endian, as the file holds them (4-bit values packed two a byte).
struct Buffer {
  std::span<const std::byte> data;
  // Keeps `data` alive: the file mapping, or bytes of our own. Null for static data.
  std::shared_ptr<const void> storage;
};

// Makes a buffer that owns a copy of the bytes.
[[nodiscard]] Buffer make_buffer(std::span<const std::byte> bytes);

// real = scale * (stored - zero_point). One scale for the tensor, or one per slice of `axis`.
struct Quantization {
  std::vector<float> scale;
  std::vector<int64_t> zero_point;
  std::vector<float> min;  // calibration ranges; informative
  std::vector<float> max;
  int32_t axis = 0;
  // Blockwise quantisation: scales and zero points are tensors of the same subgraph.
  int32_t block_scales = kNoTensor;
  int32_t block_zero_points = kNoTensor;
  int32_t block_size = 0;
  std::vector<std::byte> custom;     // opaque custom quantisation
  std::vector<int32_t> block_shape;  // blocks of several dimensions, where the file gives them
  std::vector<int32_t> block_axes;   // several quantised dimensions, where the file gives them

  [[nodiscard]] bool empty() const {
    return scale.empty() && zero_point.empty() && min.empty() && max.empty() && block_size == 0 &&
           custom.empty() && block_shape.empty() && block_axes.empty();
  }
};

// Sparse constants (the format's own encoding; see the schema's SparsityParameters).
struct SparseDimension {
  bool is_csr = false;
  int32_t dense_size = 0;
  std::vector<int64_t> segments;
  std::vector<int64_t> indices;
  uint8_t segments_width = 0;  // bytes a value in the file: 4, 2, 1; 0 if absent
  uint8_t indices_width = 0;
};
struct Sparsity {
  std::vector<int32_t> traversal_order;
  std::vector<int32_t> block_map;
  std::vector<SparseDimension> dimensions;
};

struct Tensor {
  std::string name;
  DataType type = DataType::kFloat32;
  bool has_rank = true;                  // false: the file says nothing about the shape
  std::vector<int64_t> shape;            // empty with has_rank: a scalar
  std::vector<int64_t> shape_signature;  // -1 where a dimension is dynamic; empty if the same
  int32_t buffer = kNoBuffer;            // set: a constant
  bool is_variable = false;              // state that lives across inferences
  Quantization quantization;
  std::optional<Sparsity> sparsity;
  std::vector<Tensor> variant_tensors;  // element description of a VARIANT tensor

  [[nodiscard]] bool is_constant() const { return buffer != kNoBuffer; }
  // Product of the dimensions; 1 for a scalar; 0 if a dimension is 0; negative dimensions count 1.
  // Saturates at INT64_MAX.
  [[nodiscard]] int64_t element_count() const;
  // ceil(elements * bits / 8); nullopt where the type has no fixed size (strings, resources).
  [[nodiscard]] std::optional<int64_t> byte_size() const;
};

// One option of an operator, by the name the TFLite schema gives it ("stride_h", "padding").
// Enumerations are integers.
struct Attribute {
  using Value =
      std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;
  std::string name;
  Value value;
  bool operator==(const Attribute&) const = default;
};

struct Operator {
  OpKind kind = OpKind::kCustom;
  std::string custom_code;  // for kCustom and unknown kinds
  int32_t version = 1;
  std::string name;             // empty: derived from the first output
  std::vector<int32_t> inputs;  // tensor indexes; kNoTensor where left out
  std::vector<int32_t> outputs;
  std::vector<int32_t> intermediates;
  std::vector<Attribute>
      attributes;  // only those that differ from the schema's defaults are needed
  std::vector<std::byte> custom_options;
  std::vector<uint8_t> mutating_variable_inputs;
  bool has_unknown_options = false;  // the file had an options table that this version cannot hold
  bool omits_options = false;        // the file had none: the schema's defaults hold

  [[nodiscard]] const Attribute::Value* find(std::string_view attribute) const;
  [[nodiscard]] int64_t attr_int(std::string_view attribute, int64_t otherwise) const;
  [[nodiscard]] double attr_float(std::string_view attribute, double otherwise) const;
  [[nodiscard]] std::span<const int64_t> attr_ints(std::string_view attribute) const;
  void set(std::string_view attribute, Attribute::Value value);
};

struct Subgraph {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<Operator> operators;
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
};

// A named entry of a model with several.
struct Signature {
  struct Port {
    std::string name;
    int32_t tensor = kNoTensor;
  };
  std::string key;
  int32_t subgraph = 0;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
};

struct Metadata {
  std::string name;
  int32_t buffer = kNoBuffer;
};

struct Graph {
  std::string format;  // "tflite", "onnx", or the space that made it
  std::string description;
  std::vector<Buffer> buffers;
  std::vector<Subgraph> subgraphs;  // 0 is the main one
  std::vector<Signature> signatures;
  std::vector<Metadata> metadata;
  std::vector<std::string> warnings;     // what the reader found odd
  std::vector<std::string> unsupported;  // of these, what --strict refuses

  [[nodiscard]] const Subgraph& main() const { return subgraphs.front(); }
  [[nodiscard]] Subgraph& main() { return subgraphs.front(); }
  // Bytes of a constant tensor; empty for others.
  [[nodiscard]] std::span<const std::byte> constant(const Tensor& tensor) const;
  // Copies all buffers into memory of its own, so that the file can be unmapped.
  void own_buffers();
};

// Who makes and who reads each tensor of one subgraph. Built once in O(edges).
struct GraphIndex {
  explicit GraphIndex(const Subgraph& subgraph);
  std::vector<int32_t> producer;                // operator index, or -1; the last writer wins
  std::vector<std::vector<int32_t>> consumers;  // operator indexes, ascending, without repeats
};

// A constant int32 or int64 tensor's values (a target shape, axes, pads); nullopt if not constant,
// of another type, or of more than 4,096 values: no shape has as many.
[[nodiscard]] std::optional<std::vector<int64_t>> constant_ints(const Graph& graph,
                                                                const Tensor& tensor);

}  // namespace edgesage
