// Rules for If, Loop and Scan: IF and WHILE, whose bodies are subgraphs. Names that a body takes
// from the graphs around it are further inputs; constants are its own.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "src/io/onnx/convert_call.h"

namespace edgesage::onnx::convert {
namespace {

// More trips than this are a way to say "until the condition is false".
constexpr int64_t kMostTrips = int64_t{1} << 40;

class BodyBuilder {
 public:
  explicit BodyBuilder(Call& call) : call_(call) {}

  // An input of the operator and of its body.
  void input(std::string_view name, const Val& value, Id tensor) {
    inputs_.push_back(tensor);
    Val inner = value;
    inner.constant = nullptr;
    inner.tensor = tensor;
    values_.push_back({name, std::move(inner), call_.net.tensor(tensor)});
  }
  // An input whose body's side has another shape (an element of a sequence).
  void input(std::string_view name, const Val& inner, const Tensor& tensor, Id outer) {
    inputs_.push_back(outer);
    values_.push_back({name, inner, tensor});
  }
  // What the bodies capture; each name once.
  void capture(std::span<const int32_t> bodies) {
    std::vector<std::string_view> seen;
    for (const int32_t body : bodies)
      for (const std::string_view name : call_.scope().all.captured[static_cast<size_t>(body)])
        seen.push_back(name);
    std::ranges::sort(seen);
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    for (const std::string_view name : seen) {
      const int32_t id = call_.scope().uses.id(name);
      if (id < 0) continue;
      const Val& value = call_.scope().values[static_cast<size_t>(id)];
      if (!value.exists()) continue;
      if (value.is_constant())
        values_.push_back({name, value, {}});
      else
        input(name, value, value.tensor);
    }
  }
  // Queues a body; its subgraph.
  int64_t start(int32_t body) {
    Conversion& all = call_.scope().all;
    const auto subgraph = static_cast<int32_t>(all.graph.subgraphs.size());
    all.graph.subgraphs.emplace_back();
    all.jobs.push_back({body, subgraph, values_});
    return subgraph;
  }
  [[nodiscard]] const std::vector<Id>& inputs() const { return inputs_; }

 private:
  Call& call_;
  std::vector<Id> inputs_;
  std::vector<BodyValue> values_;
};

Val declared(Call& call, const ValueType* type, std::string_view name) {
  Val value;
  value.ranked = type != nullptr && type->kind == ValueType::Kind::kTensor && type->has_shape;
  value.element = type != nullptr ? type->element : ElementType::kUndefined;
  const Shape shape = value.ranked ? known_shape(*type) : Shape{};
  value.view = View::plain(shape);
  const bool sized = value.element != ElementType::kUndefined;
  value.tensor = call.net.add_tensor(
      name, {sized ? data_type(value.element) : DataType::kVariant, nullptr}, shape);
  call.net.tensor(value.tensor).has_rank = value.ranked;
  return value;
}

Val declared_output(Call& call, size_t i) {
  const int32_t id = call.output_id(i);
  const InferredValue* known = id >= 0 ? call.scope().uses.inferred(id) : nullptr;
  return declared(call, known != nullptr ? &known->type : nullptr,
                  id >= 0 ? call.scope().uses.name(id) : std::string_view{});
}

// The operator at the end of the subgraph, with the outputs that the node declares behind its own.
std::vector<Val> append(Call& call, Operator op) {
  std::vector<Val> values;
  for (size_t i = 0; i < call.outputs(); ++i) {
    values.push_back(declared_output(call, i));
    op.outputs.push_back(values.back().tensor);
  }
  call.net.subgraph().operators.push_back(std::move(op));
  return values;
}

// A value as a tensor that a body can read; constants become tensors.
Id carried(Call& call, const Val& value) {
  if (!value.is_constant() && !value.ranked) return value.tensor;
  return call.net.stored(value, plain_order(value.view.rank()));
}

Val plainly(const Val& value) {
  Val result = value;
  if (value.ranked) result.view = View::plain(value.view.shape());
  return result;
}

Outcome if_node(Call& call) {
  const int32_t then_body = call.node.attr_graph("then_branch");
  const int32_t else_body = call.node.attr_graph("else_branch");
  if (then_body < 0 || else_body < 0 || !call.has(0)) return std::vector<Val>{};
  const auto condition = call.ints(0);
  const bool known = condition && condition->size() == 1;
  BodyBuilder builder(call);
  std::vector<int32_t> bodies{then_body, else_body};
  if (known) bodies = {condition->front() != 0 ? then_body : else_body};
  builder.capture(bodies);
  Operator op;
  op.kind = OpKind::kIf;
  op.inputs = {carried(call, call.in(0))};
  op.inputs.insert(op.inputs.end(), builder.inputs().begin(), builder.inputs().end());
  const int64_t first = builder.start(bodies.front());
  op.set("then_subgraph_index", first);
  op.set("else_subgraph_index", known ? first : builder.start(bodies.back()));
  return append(call, std::move(op));
}

Val scalar_input(Call& call, ElementType element, double value) {
  Val result;
  result.element = element;
  result.view = View::plain({});
  result.tensor = call.net.scalar(value, {data_type(element), nullptr});
  return result;
}

Outcome loop(Call& call) {
  const int32_t body = call.node.attr_graph("body");
  if (body < 0) return std::vector<Val>{};
  const GraphTable& table = call.scope().all.model->graphs[static_cast<size_t>(body)];
  const size_t carried_count = call.count() > 2 ? call.count() - 2 : 0;
  if (table.inputs.size() != carried_count + 2 || table.outputs.empty())
    return call.bad(fmt::format("its body takes {} values where {} are carried",
                                table.inputs.size(), carried_count + 2));
  BodyBuilder builder(call);
  const Val counter = scalar_input(call, ElementType::kInt64, 0);
  builder.input(table.inputs[0].name, counter, counter.tensor);
  const Val condition = call.has(1) ? call.in(1) : scalar_input(call, ElementType::kBool, 1);
  builder.input(table.inputs[1].name, plainly(condition), carried(call, condition));
  for (size_t i = 0; i < carried_count; ++i) {
    const Val& value = call.in(i + 2);
    if (!value.exists()) return std::vector<Val>{};
    builder.input(table.inputs[i + 2].name, plainly(value), carried(call, value));
  }
  builder.capture(std::span(&body, 1));
  Operator op;
  op.kind = OpKind::kWhile;
  op.inputs = builder.inputs();
  op.set("body_subgraph_index", builder.start(body));
  const auto trips = call.ints(0);
  if (trips && trips->size() == 1 && trips->front() >= 0 && trips->front() < kMostTrips)
    op.set("trip_count", trips->front());
  // The body's first output is its condition, which no reader sees.
  const Val ignored = scalar_input(call, ElementType::kBool, 1);
  Tensor cond = call.net.tensor(ignored.tensor);
  cond.buffer = kNoBuffer;
  call.net.tensor(ignored.tensor) = cond;
  op.outputs.push_back(ignored.tensor);
  return append(call, std::move(op));
}

Outcome scan(Call& call) {
  const int32_t body = call.node.attr_graph("body");
  const int64_t sequences = call.node.attr_int("num_scan_inputs", 0);
  // Before operator set 9 a batch and lengths came with it.
  if (body < 0 || sequences <= 0 || sequences > static_cast<int64_t>(call.count()) ||
      call.node.since < 9)
    return std::vector<Val>{};
  const Conversion& all = call.scope().all;
  const GraphTable& table = all.model->graphs[static_cast<size_t>(body)];
  if (table.inputs.size() != call.count())
    return call.bad(fmt::format("its body takes {} values where {} are given", table.inputs.size(),
                                call.count()));
  const size_t states = call.count() - static_cast<size_t>(sequences);
  const auto axes = call.node.attr_ints("scan_input_axes");
  BodyBuilder builder(call);
  std::optional<int64_t> trips;
  for (size_t i = 0; i < call.count(); ++i) {
    const Val& value = call.in(i);
    if (!value.exists()) return std::vector<Val>{};
    const Id outer = carried(call, value);
    if (i < states) {
      builder.input(table.inputs[i].name, plainly(value), outer);
      continue;
    }
    const InferredValue* known = all.inferred.find(body, table.inputs[i].name);
    Val inner;
    Tensor tensor;
    inner.ranked = known != nullptr && known->type.has_shape;
    inner.element = value.element;
    const Shape shape = inner.ranked ? known_shape(known->type) : Shape{};
    inner.view = View::plain(shape);
    inner.tensor = outer;
    tensor.type = call.net.tensor(outer).type;
    tensor.shape = shape;
    tensor.has_rank = inner.ranked;
    builder.input(table.inputs[i].name, inner, tensor, outer);
    const auto axis = Call::axis(i - states < axes.size() ? axes[i - states] : 0, call.rank(i));
    if (axis && value.ranked) trips = call.shape(i)[static_cast<size_t>(*axis)];
  }
  builder.capture(std::span(&body, 1));
  Operator op;
  op.kind = OpKind::kWhile;
  op.inputs = builder.inputs();
  op.set("body_subgraph_index", builder.start(body));
  if (trips) op.set("trip_count", *trips);
  return append(call, std::move(op));
}

constexpr std::array kRules{
    NamedRule{"If", if_node},
    NamedRule{"Loop", loop},
    NamedRule{"Scan", scan},
};

}  // namespace

std::span<const NamedRule> control_rules() { return kRules; }

}  // namespace edgesage::onnx::convert
