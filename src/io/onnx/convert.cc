#include "src/io/onnx/convert.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "src/io/onnx/convert_call.h"
#include "src/io/onnx/convert_patterns.h"

namespace edgesage::onnx {
namespace convert {
namespace {

constexpr size_t kNamed = 5;  // values that a warning names

std::string label_of(const UnknownDimension& dim) {
  if (dim.axis < 0) return fmt::format("input {} has no shape", dim.input);
  if (dim.symbol.empty()) return fmt::format("dimension {} of input {}", dim.axis, dim.input);
  return fmt::format("dimension {} ({}) of input {}", dim.axis, dim.symbol, dim.input);
}

Status refuse_unknown(const Inferred& inferred, const std::string& name) {
  if (inferred.unknown_dimensions.empty()) return {};
  std::vector<std::string> labels;
  for (const UnknownDimension& dim : inferred.unknown_dimensions) {
    if (labels.size() == kNamed) {
      labels.push_back(fmt::format("and {} more", inferred.unknown_dimensions.size() - kNamed));
      break;
    }
    labels.push_back(label_of(dim));
  }
  const UnknownDimension& first = inferred.unknown_dimensions.front();
  const std::string remedy =
      first.symbol.empty()
          ? fmt::format("--shape {}:1x3x224x224", first.input)
          : fmt::format("-f {}:224, or --shape {}:1x3x224x224", first.symbol, first.input);
  return make_error(ErrorCode::kInvalidArgument, name,
                    fmt::format("the file leaves open: {}; give them, as in {}",
                                fmt::join(labels, ", "), remedy));
}

Made made_of_type(const ValueType& type) {
  // Sequences, maps and optionals have no size that could be known.
  if (type.kind != ValueType::Kind::kTensor && type.kind != ValueType::Kind::kUnknown)
    return {DataType::kVariant, nullptr};
  const DataType data = data_type(type.element);
  return {type.element == ElementType::kUndefined ? DataType::kVariant : data, nullptr};
}

// A tensor for a value of which only inference says something.
Val declared(Emitter& net, std::string_view name, const ValueType& type, const DimOrder* order) {
  Val value;
  value.element = type.element;
  value.ranked = type.kind == ValueType::Kind::kTensor && type.has_shape;
  const Shape shape = value.ranked ? known_shape(type) : Shape{};
  const DimOrder plain = plain_order(shape.size());
  const DimOrder& used = order != nullptr && value.ranked ? *order : plain;
  value.view = View(shape, used);
  value.tensor = net.add_tensor(name, made_of_type(type), value.view.stored_shape(used));
  net.tensor(value.tensor).has_rank = value.ranked;
  return value;
}

class GraphConverter {
 public:
  GraphConverter(Conversion& all, const BodyJob& job)
      : scope_{all,
               job.graph,
               all.model->graphs[static_cast<size_t>(job.graph)],
               GraphUses(*all.model, all.inferred, job.graph, all.captured),
               Emitter(all.graph, static_cast<size_t>(job.subgraph), all.constants),
               {},
               {}} {
    scope_.values.resize(scope_.uses.size());
  }

  Status run(const BodyJob& job) {
    scope_.net.subgraph().name = scope_.table.name;
    enter_constants();
    if (job.graph == 0)
      enter_inputs();
    else
      enter_body(job);
    const std::vector<Pattern> patterns = find_patterns(scope_.table, scope_.uses);
    for (size_t i = 0; i < scope_.table.nodes.size(); ++i) {
      if (!scope_.uses.is_needed(i)) continue;
      if (!patterns.empty() && patterns[i].inside) continue;
      if (!patterns.empty() && patterns[i].group != Pattern::Group::kNone)
        stand_in(i, patterns[i]);
      else
        EDGESAGE_RETURN_IF_ERROR(convert(i));
    }
    leave(job.graph != 0);
    return {};
  }

 private:
  void enter_constants() {
    for (size_t i = 0; i < scope_.values.size(); ++i) {
      const InferredValue* known = scope_.uses.inferred(static_cast<int32_t>(i));
      if (known == nullptr || known->constant == nullptr) continue;
      Val& value = scope_.values[i];
      value.constant = known->constant;
      value.element = known->constant->element;
      value.view = View::plain(known->constant->dims);
    }
  }

  void enter_inputs() {
    for (const Value& input : scope_.table.inputs) {
      const int32_t id = scope_.uses.id(input.name);
      if (id < 0 || scope_.values[static_cast<size_t>(id)].exists()) continue;
      const InferredValue* known = scope_.uses.inferred(id);
      const ValueType& type = known != nullptr ? known->type : input.type;
      const DimOrder order = scope_.uses.wants_image(id) ? image_order(type.shape.size())
                                                         : plain_order(type.shape.size());
      Val value = declared(scope_.net, input.name, type, &order);
      scope_.net.subgraph().inputs.push_back(value.tensor);
      scope_.values[static_cast<size_t>(id)] = std::move(value);
    }
  }

  // Inputs of a body are those of its operator: they lie as the graph around it left them.
  void enter_body(const BodyJob& job) {
    for (const BodyValue& outer : job.values) {
      Val value = outer.value;
      if (!value.is_constant()) {
        value.tensor = scope_.net.adopt(outer.tensor, outer.name, value.quant);
        value.made_by = -1;
        scope_.net.subgraph().inputs.push_back(value.tensor);
      }
      const int32_t id = scope_.uses.id(outer.name);
      if (id >= 0) scope_.values[static_cast<size_t>(id)] = std::move(value);
    }
  }

  Val value_of(int32_t id) const { return id < 0 ? Val{} : scope_.values[static_cast<size_t>(id)]; }

  Val activation_of(Call& call, const Pattern& pattern) {
    const Val in = value_of(pattern.input);
    Id x = in.is_constant() || !in.ranked ? scope_.net.stored(in, plain_order(in.view.rank()))
                                          : in.tensor;
    if (in.quant != nullptr) x = scope_.net.dequantized(x);
    const OpKind kind =
        pattern.group == Pattern::Group::kHardSwish ? OpKind::kHardSwish : OpKind::kGelu;
    const Id id = scope_.net.unary(kind, x, {data_type(in.element), nullptr});
    if (pattern.group == Pattern::Group::kGeluByTanh)
      scope_.net.last().set("approximate", int64_t{1});
    return call.result(id, in.view);
  }

  Val layer_norm_of(Call& call, const Pattern& pattern) {
    return layer_norm(call, value_of(pattern.input), pattern.axis, pattern.epsilon, true,
                      value_of(pattern.scale), value_of(pattern.shift));
  }

  // What one node would have become, for the group of nodes that ends here.
  void stand_in(size_t index, const Pattern& pattern) {
    Call call(scope_, index);
    Val result = pattern.group == Pattern::Group::kLayerNorm ? layer_norm_of(call, pattern)
                                                             : activation_of(call, pattern);
    result.quant = nullptr;
    scope_.net.last().name = call.node.name;
    const int32_t output = scope_.uses.outputs(index)[0];
    scope_.net.rename(result.tensor, scope_.uses.name(output));
    scope_.values[static_cast<size_t>(output)] = std::move(result);
  }

  Status convert(size_t index) {
    Call call(scope_, index);
    const Rule rule = find_rule(call.node);
    const bool shapeless = !bodies_of(call.node).empty() || call.op() == "Identity";
    std::vector<Val> results;
    if (rule != nullptr && (call.all_ranked() || shapeless)) {
      EDGESAGE_ASSIGN_OR_RETURN(results, rule(call));
    }
    if (results.empty()) results = opaque(call);
    const auto outputs = scope_.uses.outputs(index);
    for (size_t i = 0; i < outputs.size() && i < results.size(); ++i) {
      if (outputs[i] < 0 || !results[i].exists()) continue;
      if (results[i].made_by >= 0 && !results[i].is_constant()) {
        scope_.net.rename(results[i].tensor, scope_.uses.name(outputs[i]));
        Operator& op = scope_.net.subgraph().operators[static_cast<size_t>(results[i].made_by)];
        if (op.name.empty()) op.name = call.node.name;
      }
      mark_open(outputs[i], results[i]);
      scope_.values[static_cast<size_t>(outputs[i])] = std::move(results[i]);
    }
    return {};
  }

  // Dimensions that inference leaves open, because they depend on data, count as 1.
  void mark_open(int32_t id, const Val& value) {
    const InferredValue* known = scope_.uses.inferred(id);
    if (known == nullptr || !known->type.has_shape || value.is_constant()) return;
    const auto& dims = known->type.shape;
    if (std::ranges::all_of(dims, [](const Dimension& dim) { return dim.known(); })) return;
    Tensor& tensor = scope_.net.tensor(value.tensor);
    const auto order = value.view.order_in(tensor.shape);
    if (!order || !tensor.shape_signature.empty()) return;
    tensor.shape_signature = tensor.shape;
    for (size_t d = 0; d < order->size(); ++d)
      if ((*order)[d] != kNoDim && static_cast<size_t>((*order)[d]) < dims.size() &&
          !dims[static_cast<size_t>((*order)[d])].known())
        tensor.shape_signature[d] = -1;
  }

  std::vector<Val> opaque(Call& call) {
    Operator op;
    op.kind = OpKind::kCustom;
    op.custom_code = call.node.op_type;
    for (size_t i = 0; i < call.count(); ++i)
      op.inputs.push_back(call.has(i) ? call.as_it_lies(i) : kNoTensor);
    std::vector<Val> results;
    for (size_t i = 0; i < call.outputs(); ++i) {
      Val value;
      const int32_t id = call.output_id(i);
      if (id >= 0) {
        const InferredValue* known = scope_.uses.inferred(id);
        value = declared(scope_.net, scope_.uses.name(id),
                         known != nullptr ? known->type : ValueType{}, nullptr);
        op.outputs.push_back(value.tensor);
      } else {
        op.outputs.push_back(kNoTensor);
      }
      results.push_back(std::move(value));
    }
    scope_.net.subgraph().operators.push_back(std::move(op));
    for (Val& value : results)
      value.made_by = static_cast<int32_t>(scope_.net.subgraph().operators.size()) - 1;
    return results;
  }

  // Outputs of the main graph may stay images; those of bodies are what the graph around expects.
  void leave(bool plain_only) {
    for (const Value& output : scope_.table.outputs) {
      const int32_t id = scope_.uses.id(output.name);
      if (id < 0) continue;
      const Val& value = scope_.values[static_cast<size_t>(id)];
      if (!value.exists()) continue;
      scope_.net.subgraph().outputs.push_back(as_output(value, output.name, plain_only));
    }
  }

  Id as_output(const Val& value, std::string_view name, bool plain_only) {
    Emitter& net = scope_.net;
    Id id = value.tensor;
    const size_t rank = value.view.rank();
    const DimOrder image = image_order(rank);
    bool is_image = false;
    if (!plain_only && rank > 2 && value.ranked && !value.is_constant()) {
      const View::Move move = value.view.plan_move(net.shape(id), image);
      is_image = move.permutation.empty() && (move.target.empty() || !value.view.is_plain());
    }
    if (value.is_constant() || value.ranked)
      id = net.stored(value, is_image ? image : plain_order(rank));
    if (value.quant != nullptr) id = net.dequantized(id);
    if (net.tensor(id).name.empty()) net.rename(id, name);
    return id;
  }

  Scope scope_;
};

}  // namespace
}  // namespace convert

Result<Graph> graph_of_onnx(std::shared_ptr<const Model> model, const Inferred& inferred,
                            const std::string& name) {
  EDGESAGE_RETURN_IF_ERROR(convert::refuse_unknown(inferred, name));
  if (model->graphs.empty())
    return make_error(ErrorCode::kBadModel, name, "the model has no graph; one is needed");
  Graph graph;
  graph.format = "onnx";
  graph.description = model->producer_name;
  if (!model->producer_version.empty()) {
    graph.description += ' ';
    graph.description += model->producer_version;
  }
  graph.buffers.resize(1);
  graph.subgraphs.resize(1);
  graph.warnings = model->warnings;
  graph.warnings.insert(graph.warnings.end(), inferred.warnings.begin(), inferred.warnings.end());
  convert::Conversion all{
      model, inferred, graph, convert::Constants(graph, model), convert::captured_names(*model),
      {},    {},       {}};
  all.jobs.push_back({});
  while (!all.jobs.empty()) {
    const convert::BodyJob job = std::move(all.jobs.front());
    all.jobs.pop_front();
    convert::GraphConverter converter(all, job);
    Status status = converter.run(job);
    if (!status) {
      status.error().where = fmt::format("{}: {}", name, status.error().where);
      return tl::unexpected<Error>(std::move(status).error());
    }
  }
  graph.warnings.insert(graph.warnings.end(), all.notes.begin(), all.notes.end());
  return graph;
}

}  // namespace edgesage::onnx
