// One ONNX node while it becomes operators: what its rule sees, and the table of rules.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/graph/builder.h"
#include "src/io/onnx/convert_emitter.h"
#include "src/io/onnx/convert_uses.h"

namespace edgesage::onnx::convert {

// A body (of If, Loop, Scan) that waits to be converted: what its inputs and the names that it
// captures are stored as.
struct BodyValue {
  std::string_view name;
  Val value;
  Tensor tensor;  // as the graph around it has it; unused for constants
};
struct BodyJob {
  int32_t graph = 0;
  int32_t subgraph = 0;
  std::vector<BodyValue> values;
};

// What the conversion of all graphs shares.
struct Conversion {
  std::shared_ptr<const Model> model;
  const Inferred& inferred;
  Graph& graph;
  Constants constants;
  std::vector<std::vector<std::string_view>> captured;
  std::deque<BodyJob> jobs;
  std::deque<Constant> made_constants;  // values that are constant without having bytes
  std::vector<std::string> notes;       // said once each
  void note(std::string text);
};

// The conversion of one graph: its values so far.
struct Scope {
  Conversion& all;
  int32_t graph_index;
  const GraphTable& table;
  GraphUses uses;
  Emitter net;
  std::vector<Val> values;        // by the numbers of `uses`
  std::vector<Quant> quantizers;  // of QuantizeLinear nodes, by node; made when asked for
};

// Values of a constant; nullopt where there are no bytes, too many, or they are not numbers.
[[nodiscard]] std::optional<std::vector<int64_t>> constant_integers(const Constant& constant);
[[nodiscard]] std::optional<std::vector<double>> constant_reals(const Constant& constant);
[[nodiscard]] Shape known_shape(const ValueType& type);  // 1 where a dimension is not known
[[nodiscard]] bool is_real(ElementType type);
// Parameters from a scale and a zero point; null where the scale has no values.
// Of no known scale, where a file computes it.
[[nodiscard]] Quant nominal_quant(const Val& integers);
[[nodiscard]] Quant make_quant(const Val& scale, const Val* zero_point, int64_t axis,
                               DataType otherwise);

// Tensors for a node's outputs; none: the rule cannot say it in the Graph's operators.
using Outcome = Result<std::vector<Val>>;

class Call {
 public:
  Call(Scope& scope, size_t index);

  const Node& node;
  Emitter& net;

  [[nodiscard]] std::string_view op() const { return node.op_type; }
  [[nodiscard]] size_t count() const { return node.inputs.size(); }
  [[nodiscard]] bool has(size_t i) const { return i < node.inputs.size() && value(i).exists(); }
  [[nodiscard]] const Val& in(size_t i) const { return value(i); }
  [[nodiscard]] Shape shape(size_t i) const { return in(i).view.shape(); }
  [[nodiscard]] size_t rank(size_t i) const { return in(i).view.rank(); }
  [[nodiscard]] bool all_ranked() const;

  [[nodiscard]] size_t outputs() const { return node.outputs.size(); }
  [[nodiscard]] bool wants(size_t output) const;  // it is read, or an output of the graph
  [[nodiscard]] bool knows(size_t output) const;  // inference gave it a shape
  [[nodiscard]] Shape out_shape(size_t output = 0) const;
  [[nodiscard]] ElementType out_element(size_t output = 0) const;
  // What the node's results are made of: their element type, or the integers of its quantisation.
  [[nodiscard]] Made made(size_t output = 0) const;

  // Constant inputs; absent ones and those that are not constant are nullopt.
  [[nodiscard]] std::optional<std::vector<int64_t>> ints(size_t i) const;
  [[nodiscard]] std::optional<std::vector<double>> reals(size_t i) const;
  [[nodiscard]] std::optional<double> real(size_t i) const;  // of one element
  // From an attribute of old operator sets, or else the input that replaced it.
  [[nodiscard]] std::optional<std::vector<int64_t>> ints_of(std::string_view attribute,
                                                            size_t input) const;
  // An axis from 0 to rank - 1, or nullopt.
  [[nodiscard]] static std::optional<int64_t> axis(int64_t value, size_t rank);

  // The elements lie in ONNX's order but under another shape: what a Reshape left to do.
  [[nodiscard]] bool waits_for_shape(size_t i) const;
  // The order in which an input lies; where its dimensions are mixed, the one it is brought into.
  [[nodiscard]] DimOrder layout(size_t i) const;
  [[nodiscard]] bool wants_image(size_t output = 0) const;
  // Input i in this order and in the numbers that the node computes with: integers where it is
  // quantised, else reals.
  [[nodiscard]] Id x(size_t i, const DimOrder& order);
  [[nodiscard]] Id x(size_t i, std::span<const DimOrder> groups);
  [[nodiscard]] Id plain(size_t i) { return x(i, plain_order(rank(i))); }
  [[nodiscard]] Id x(const Val& value, const DimOrder& order);
  // Input i as it lies, whatever its order; a constant plain, and one that only waits for its shape
  // with that.
  [[nodiscard]] Id as_it_lies(size_t i);

  // Results. `order`: of the output's dimensions in the tensor.
  [[nodiscard]] Val result(Id tensor, const DimOrder& order, size_t output = 0);
  [[nodiscard]] Val result(Id tensor, View view, size_t output = 0);
  // Of nodes that move elements: the integers stay what they were in `from`.
  [[nodiscard]] Val moved(Id tensor, View view, const Val& from, size_t output = 0);

  // A quantised node: all its real inputs are integers and its result will be.
  [[nodiscard]] bool quantised() const { return quant_ != nullptr; }
  void quantise(Quant quant) { quant_ = std::move(quant); }
  // Operator that made input i, where nobody else reads that value; null otherwise.
  [[nodiscard]] Operator* sole_producer(size_t i);

  [[nodiscard]] Scope& scope() { return scope_; }
  [[nodiscard]] const Scope& scope() const { return scope_; }
  [[nodiscard]] int32_t input_id(size_t i) const { return inputs_[i]; }
  [[nodiscard]] int32_t output_id(size_t i) const { return outputs_[i]; }
  void note(std::string text) { scope_.all.note(std::move(text)); }
  [[nodiscard]] tl::unexpected<Error> bad(std::string message) const;

 private:
  [[nodiscard]] const Val& value(size_t i) const;

  Scope& scope_;
  std::span<const int32_t> inputs_, outputs_;
  Quant quant_;
};

[[nodiscard]] Quant quantizer_of(Scope& scope, int32_t value);

using Rule = Outcome (*)(Call& call);
struct NamedRule {
  std::string_view op;
  Rule rule;
};
// Rules by groups; operators of ai.onnx and of com.microsoft share one name space.
[[nodiscard]] std::span<const NamedRule> elementwise_rules();
[[nodiscard]] std::span<const NamedRule> window_rules();
[[nodiscard]] std::span<const NamedRule> matrix_rules();
[[nodiscard]] std::span<const NamedRule> shape_rules();
[[nodiscard]] std::span<const NamedRule> selection_rules();
[[nodiscard]] std::span<const NamedRule> reduction_rules();
[[nodiscard]] std::span<const NamedRule> normalization_rules();
[[nodiscard]] std::span<const NamedRule> recurrent_rules();
[[nodiscard]] std::span<const NamedRule> attention_rules();
[[nodiscard]] std::span<const NamedRule> quantization_rules();
[[nodiscard]] std::span<const NamedRule> control_rules();
[[nodiscard]] Rule find_rule(const Node& node);

// Shared by several groups.
[[nodiscard]] Outcome one(Val value);
// Activation `kind` (RELU, RELU6, RELU_N1_TO_1) of input 0, fused into what makes it if it can be.
[[nodiscard]] Outcome activation(Call& call, OpKind kind);
// Which input of a convolution or dense layer is the bias.
[[nodiscard]] std::optional<size_t> bias_slot(const Operator& op);
// Folds input `constant` of an Add or a Mul into the operator that makes input `other`; nullopt
// where it does not fit one.
[[nodiscard]] std::optional<Val> fold_constant(Call& call, size_t constant, size_t other);
// A window's padding of TFLite, and what has to be padded before it.
struct WindowPadding {
  Padding padding = Padding::kValid;
  int64_t before = 0, after = 0;
};
[[nodiscard]] WindowPadding window_padding(int64_t in, int64_t out, int64_t reach, int64_t stride,
                                           int64_t before);
// FULLY_CONNECTED of rows by weights whose ONNX dimensions are (outputs, inputs) after
// `transposed`; bias may be null.
[[nodiscard]] Id fully_connected(Call& call, Id x, const Val& weights, const Val* bias,
                                 const Made& made, bool keep_dims);
// Rows times a matrix (batches of them): BATCH_MATMUL.
[[nodiscard]] Id batch_matmul(Call& call, Id a, Id b, bool turn_a, bool turn_b, const Made& made);
// Layer normalisation (`centred`, else by the root of the mean square) of a value over its
// dimensions from `axis` on; scale and shift may not exist.
[[nodiscard]] Val layer_norm(Call& call, const Val& in, int64_t axis, double epsilon, bool centred,
                             const Val& scale, const Val& shift);
// Mean, variance, scale and shift over stored dimensions, as converters to TFLite write it.
[[nodiscard]] Id normalize(Call& call, Id x, const std::vector<int64_t>& axes, double epsilon,
                           bool centred, Id scale, Id shift);

}  // namespace edgesage::onnx::convert
