// What the ONNX converter builds one subgraph with: tensors, constants in the order in which they
// are needed, operators, and the moves between orders.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "src/graph/graph.h"
#include "src/io/onnx/convert_view.h"
#include "src/io/onnx/model.h"

namespace edgesage::onnx::convert {

using Id = int32_t;  // of a tensor of the subgraph

[[nodiscard]] DataType data_type(ElementType type);

// Scales and zero points of a QuantizeLinear or DequantizeLinear.
struct QuantParameters {
  std::vector<float> scale;
  std::vector<int64_t> zero_point;  // as many as scales
  int64_t axis = -1;                // ONNX dimension of the slices; -1: one for the whole tensor
  int64_t block = 0;                // elements of `axis` that share a scale, where blocks do
  DataType type = DataType::kInt8;
  bool operator==(const QuantParameters&) const = default;
};
using Quant = std::shared_ptr<const QuantParameters>;

// What an operator's outputs are made of.
struct Made {
  DataType type = DataType::kFloat32;
  Quant quant;  // of an integer type that stands for real numbers
};

// What is known of an ONNX value while its graph is converted.
struct Val {
  // A part of "quantise on the fly, multiply integers, scale back", which becomes one operator
  // that reads and gives real numbers.
  enum class Role : uint8_t { kPlain, kDynamic, kDynamicScale, kDynamicSum };

  Id tensor = kNoTensor;               // that holds it, in the order of `view`
  const Constant* constant = nullptr;  // or the constant that it is
  View view;
  bool ranked = true;  // false: nothing is known of the shape
  ElementType element = ElementType::kFloat;
  Quant quant;           // set: the tensor holds integers that stand for the value's reals
  int32_t made_by = -1;  // operator whose result it is, unchanged
  Role role = Role::kPlain;

  [[nodiscard]] bool exists() const { return tensor != kNoTensor || constant != nullptr; }
  [[nodiscard]] bool is_constant() const { return constant != nullptr; }
};

// Product of the dimensions, as Tensor::element_count().
[[nodiscard]] int64_t elements(const Shape& shape);

// Buffers of a Graph by the constant and the order they were made from, so that what is used twice
// is stored once. Bytes that only change their order are copied for types of 8 bits (statistics of
// quantised weights are read by the cost of compressed streams) up to 4 MB a constant and 64 MB in
// all, and for all others up to 64 kB; beyond, the constant has its shape and no bytes.
class Constants {
 public:
  Constants(Graph& graph, std::shared_ptr<const Model> model)
      : graph_(graph), model_(std::move(model)) {}
  // A buffer with the constant's elements as `move` orders them.
  int32_t buffer(const Constant& constant, const View& view, const Shape& stored,
                 const View::Move& move);
  // A slice of the leading dimensions: `count` bytes from `begin`.
  int32_t slice(const Constant& constant, int64_t begin, int64_t count);
  int32_t bytes(std::span<const std::byte> data);
  int32_t absent();

 private:
  int32_t add(Buffer buffer);
  Graph& graph_;
  std::shared_ptr<const Model> model_;
  using Key = std::tuple<const Constant*, Shape, std::vector<int64_t>, int64_t, int64_t>;
  std::map<Key, int32_t> made_;
  int64_t permuted_bytes_ = 0;
};

class Emitter {
 public:
  Emitter(Graph& graph, size_t subgraph, Constants& constants)
      : graph_(graph), subgraph_(subgraph), constants_(constants) {}

  [[nodiscard]] Subgraph& subgraph() { return graph_.subgraphs[subgraph_]; }
  [[nodiscard]] Graph& graph() { return graph_; }
  [[nodiscard]] Constants& constants() { return constants_; }
  [[nodiscard]] Tensor& tensor(Id x) { return subgraph().tensors[static_cast<size_t>(x)]; }
  [[nodiscard]] const Shape& shape(Id x) { return tensor(x).shape; }
  [[nodiscard]] Operator& last() { return subgraph().operators.back(); }

  Id add_tensor(std::string_view name, const Made& made, Shape shape);
  // A copy of another subgraph's tensor, as an input of this one.
  Id adopt(Tensor tensor, std::string_view name, const Quant& quant);
  // int32 constants: axes, sizes, pads. `scalar`: a single one without a dimension.
  Id ints(const std::vector<int64_t>& values, bool scalar = false);
  Id scalar(double value, const Made& made);
  // A constant of unknown bytes.
  Id absent(const Made& made, Shape shape);

  Id add(Operator op, const Made& made, Shape shape);
  std::vector<Id> add(Operator op, const Made& made, const std::vector<Shape>& shapes);
  Id unary(OpKind kind, Id x, const Made& made);
  Id binary(OpKind kind, Id a, Id b, const Made& made);  // the shape is that of broadcasting
  Id reshape(Id x, const Shape& shape);
  Id transpose(Id x, const std::vector<int64_t>& order);
  // Two values a dimension, before and after. `kind` is PAD, PADV2 (with `value`) or MIRROR_PAD.
  Id pad(Id x, const std::vector<int64_t>& pads, OpKind kind = OpKind::kPad, double value = 0);
  Id reduce(OpKind kind, Id x, const std::vector<int64_t>& axes, bool keep, const Made& made);
  Id slice(Id x, const std::vector<int64_t>& begin, const Shape& size);
  Id cast(OpKind kind, Id x, const Made& made);

  // The value with its ONNX dimensions in this order, as the tensor type it has; a constant gets
  // bytes in that order. Moves are remembered: who asks twice gets the same tensor.
  Id stored(const Val& value, const DimOrder& order);
  Id stored(const Val& value, std::span<const DimOrder> groups);
  // x as float32 behind a DEQUANTIZE, which is remembered too.
  Id dequantized(Id x);

  [[nodiscard]] Made made_of(Id x);
  // Remembers what a tensor's integers stand for.
  void set_quant(Id x, Quant quant) { quants_[x] = std::move(quant); }
  void rename(Id x, std::string_view name);

 private:
  Id move(Id x, const View::Move& move);
  Id constant(const Val& value, std::span<const DimOrder> groups);

  Graph& graph_;
  size_t subgraph_;
  Constants& constants_;
  std::map<std::tuple<Id, OpKind, std::vector<int64_t>>, Id> moved_;
  std::map<std::tuple<const Constant*, Shape, std::vector<int64_t>, const QuantParameters*>, Id>
      constant_tensors_;
  std::map<std::vector<int64_t>, Id> ints_;
  std::unordered_map<Id, Quant> quants_;
};

// A tensor's quantisation; `axis_dim` is the stored dimension of a per-channel axis.
[[nodiscard]] Quantization quantization_of(const QuantParameters& parameters, int32_t axis_dim);

}  // namespace edgesage::onnx::convert
