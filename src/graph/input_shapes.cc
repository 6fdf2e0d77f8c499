#include "src/graph/input_shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "src/graph/op_registry.h"

namespace edgesage {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 40;

std::string input_name(const Subgraph& main, size_t position) {
  const std::string& name = main.tensors[static_cast<size_t>(main.inputs[position])].name;
  return name.empty() ? fmt::format("input {}", position) : name;
}

std::string shape_text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

bool has_weights(OpKind kind) {
  return kind == OpKind::kConv2D || kind == OpKind::kDepthwiseConv2D ||
         kind == OpKind::kTransposeConv || kind == OpKind::kFullyConnected;
}

bool is_open(const Tensor& tensor) {
  const auto open = [](int64_t size) { return size < 0; };
  return !tensor.has_rank || std::ranges::any_of(tensor.shape_signature, open) ||
         std::ranges::any_of(tensor.shape, open);
}

class Resizer {
 public:
  Resizer(Graph& graph, const InputShapes& wanted)
      : graph_(graph),
        main_(graph.main()),
        wanted_(wanted),
        before_(main_.tensors.size()),
        changed_(main_.tensors.size(), 0) {}

  Status run() {
    EDGESAGE_RETURN_IF_ERROR(set_named());
    EDGESAGE_RETURN_IF_ERROR(set_batch());
    for (size_t i = 0; i < main_.operators.size(); ++i)
      EDGESAGE_RETURN_IF_ERROR(follow(i, main_.operators[i]));
    say_guessed();
    return {};
  }

 private:
  static tl::unexpected<Error> wrong(std::string where, std::string message) {
    return make_error(ErrorCode::kInvalidArgument, std::move(where), std::move(message));
  }

  void assign(int32_t index, Shape shape) {
    const auto i = static_cast<size_t>(index);
    Tensor& tensor = main_.tensors[i];
    if (tensor.has_rank && tensor.shape == shape) return;
    if (changed_[i] == 0) before_[i] = tensor.shape;
    changed_[i] = 1;
    tensor.has_rank = true;
    tensor.shape = std::move(shape);
  }

  int32_t find_input(const std::string& name) const {
    for (size_t i = 0; i < main_.inputs.size(); ++i)
      if (input_name(main_, i) == name) return main_.inputs[i];
    for (const Signature& signature : graph_.signatures) {
      if (signature.subgraph != 0) continue;
      for (const Signature::Port& port : signature.inputs)
        if (port.name == name) return port.tensor;
    }
    return kNoTensor;
  }

  Status set_named() {
    for (const auto& [name, shape] : wanted_.by_name) {
      const std::string where = "--shape " + name;
      const int32_t index = find_input(name);
      if (index == kNoTensor) {
        std::vector<std::string> names;
        for (size_t i = 0; i < main_.inputs.size(); ++i) names.push_back(input_name(main_, i));
        return wrong(where, fmt::format("the model has no such input; its inputs are: {}",
                                        fmt::join(names, ", ")));
      }
      Tensor& tensor = main_.tensors[static_cast<size_t>(index)];
      if (tensor.has_rank && !tensor.shape.empty() && tensor.shape.size() != shape.size())
        return wrong(where, fmt::format("{} dimensions; the file has {}, {}", shape.size(),
                                        tensor.shape.size(), shape_text(tensor.shape)));
      EDGESAGE_RETURN_IF_ERROR(check_size(where, shape));
      tensor.shape_signature.clear();
      assign(index, shape);
    }
    return {};
  }

  static Status check_size(const std::string& where, const Shape& shape, int64_t least = 1) {
    Tensor sized;
    sized.shape = shape;
    const auto possible = [least](int64_t size) {
      return size >= least && size <= std::numeric_limits<int32_t>::max();
    };
    if (!std::ranges::all_of(shape, possible) || sized.element_count() > kMostElements)
      return wrong(where, fmt::format("{}; sizes are {} to 2147483647, and at most 2^40 elements",
                                      shape_text(shape), least));
    return {};
  }

  Status set_batch() {
    if (wanted_.batch == 0) return {};
    int64_t batch = 0;
    for (const int32_t index : main_.inputs) {
      Tensor& tensor = main_.tensors[static_cast<size_t>(index)];
      if (tensor.shape.size() < 2) continue;
      if (batch == 0) batch = tensor.shape.front();
      if (tensor.shape.front() != batch) continue;
      Shape shape = tensor.shape;
      shape.front() = wanted_.batch;
      for (int64_t& size : shape) size = std::max<int64_t>(size, 1);
      EDGESAGE_RETURN_IF_ERROR(check_size("--batch", shape));
      if (!tensor.shape_signature.empty()) tensor.shape_signature.front() = wanted_.batch;
      assign(index, std::move(shape));
    }
    if (batch == 0)
      return wrong("--batch", "no input has a batch: none is of two dimensions or more");
    return {};
  }

  [[nodiscard]] bool reads_changed(const Operator& op) const {
    return std::ranges::any_of(op.inputs, [this](int32_t tensor) {
      return tensor >= 0 && changed_[static_cast<size_t>(tensor)] != 0;
    });
  }

  // An operand whose size is still open has a stand-in for a shape, which need not fit.
  [[nodiscard]] bool reads_open(const Operator& op) const {
    return std::ranges::any_of(op.inputs, [this](int32_t tensor) {
      return tensor >= 0 && changed_[static_cast<size_t>(tensor)] == 0 &&
             is_open(main_.tensors[static_cast<size_t>(tensor)]);
    });
  }

  Status follow(size_t index, const Operator& op) {
    if (!reads_changed(op)) return {};
    const auto shapes = infer_shapes(graph_, main_, op);
    const std::string place = fmt::format("operator {} ({})", index, op_name(op.kind));
    if (shapes) {
      for (size_t i = 0; i < std::min(shapes->size(), op.outputs.size()); ++i) {
        if (op.outputs[i] < 0 || main_.tensors[static_cast<size_t>(op.outputs[i])].is_constant())
          continue;
        // Growth is stopped here, so that no product of sizes can overflow further on.
        EDGESAGE_RETURN_IF_ERROR(check_size(place, (*shapes)[i], 0));
        assign(op.outputs[i], (*shapes)[i]);
      }
      return {};
    }
    if (shapes.error().code == ErrorCode::kUnsupported || reads_open(op)) {
      guessed_.insert(std::string(op_name(op.kind)));
    } else if (has_weights(op.kind)) {
      return wrong(
          place, fmt::format("{}: the shapes given do not fit the model", shapes.error().message));
    } else {
      graph_.unsupported.push_back(fmt::format(
          "{}: at the shapes given, {}: the file's constants hold for its own shapes alone; the "
          "first dimension is taken to follow; convert the model with open sizes",
          place, shapes.error().message));
      graph_.warnings.push_back(graph_.unsupported.back());
    }
    follow_first_dimension(op);
    return {};
  }

  // Results whose first dimension was that of a changed operand change with it.
  void follow_first_dimension(const Operator& op) {
    for (const int32_t input : op.inputs) {
      if (input < 0 || changed_[static_cast<size_t>(input)] == 0) continue;
      const Shape& old_shape = before_[static_cast<size_t>(input)];
      const Shape now = main_.tensors[static_cast<size_t>(input)].shape;
      if (old_shape.empty() || now.empty()) continue;
      for (const int32_t output : op.outputs) {
        if (output < 0) continue;
        const Tensor& tensor = main_.tensors[static_cast<size_t>(output)];
        if (tensor.is_constant() || tensor.shape.empty() ||
            tensor.shape.front() != old_shape.front())
          continue;
        Shape shape = tensor.shape;
        shape.front() = now.front();
        assign(output, std::move(shape));
      }
      return;
    }
  }

  void say_guessed() {
    if (guessed_.empty()) return;
    graph_.warnings.push_back(
        fmt::format("there is no shape rule for {}: behind {} the first dimension is taken to "
                    "follow the input, and the others are the file's",
                    fmt::join(guessed_, ", "), guessed_.size() == 1 ? "it" : "them"));
  }

  Graph& graph_;
  Subgraph& main_;
  const InputShapes& wanted_;
  std::vector<Shape> before_;  // of the changed ones
  std::vector<uint8_t> changed_;
  std::set<std::string> guessed_;
};

// Whether the sizes of all operands are known and none is empty.
bool is_comparable(const Subgraph& subgraph, const Operator& op) {
  for (const auto* operands : {&op.inputs, &op.outputs})
    for (const int32_t index : *operands) {
      if (index < 0) continue;
      const Tensor& tensor = subgraph.tensors[static_cast<size_t>(index)];
      if (is_open(tensor) || tensor.element_count() == 0) return false;
    }
  return !op.inputs.empty() && !op.outputs.empty();
}

// Why the weights cannot be multiplied with the input; empty where they can.
std::string weights_clash(const Subgraph& subgraph, const Operator& op) {
  const size_t position = op.kind == OpKind::kTransposeConv ? 2 : 0;
  if (op.inputs.size() <= std::max<size_t>(position, 1)) return {};
  const int32_t first = op.inputs[position], second = op.inputs[1];
  if (first < 0 || second < 0) return {};
  const Tensor& input = subgraph.tensors[static_cast<size_t>(first)];
  const Tensor& weights = subgraph.tensors[static_cast<size_t>(second)];
  const size_t rank = op.kind == OpKind::kFullyConnected ? 2 : 4;
  if (weights.shape.size() != rank || input.shape.empty()) return {};
  const int64_t depth = weights.shape.back();
  const int64_t given =
      op.kind == OpKind::kFullyConnected ? input.element_count() : input.shape.back();
  const bool fits = op.kind == OpKind::kDepthwiseConv2D ? depth % given == 0
                    : op.kind == OpKind::kTransposeConv ? depth == given
                                                        : given % depth == 0;
  if (fits) return {};
  return fmt::format("weights {} do not fit an input of {}", shape_text(weights.shape),
                     shape_text(input.shape));
}

int64_t count_elements(const Shape& shape) {
  Tensor tensor;
  tensor.shape = shape;
  return tensor.element_count();
}

// Why a file's shapes around an operator that moves data cannot be; empty where they can.
std::string moved_clash(const Graph& graph, const Subgraph& subgraph, const Operator& op) {
  const auto shapes = infer_shapes(graph, subgraph, op);
  if (!shapes)
    return shapes.error().code == ErrorCode::kBadModel ? shapes.error().message : std::string();
  if (shapes->size() != op.outputs.size())
    return fmt::format("{} results are declared, {} follow", op.outputs.size(), shapes->size());
  for (size_t i = 0; i < shapes->size(); ++i) {
    if (op.outputs[i] < 0) continue;
    const Shape& declared = subgraph.tensors[static_cast<size_t>(op.outputs[i])].shape;
    if (count_elements(declared) != count_elements((*shapes)[i]))
      return fmt::format("{} is declared for a result of {}", shape_text(declared),
                         shape_text((*shapes)[i]));
  }
  return {};
}

}  // namespace

Status set_input_shapes(Graph& graph, const InputShapes& wanted) {
  if (wanted.by_name.empty() && wanted.batch == 0) return {};
  if (graph.subgraphs.empty())
    return make_error(ErrorCode::kInvalidArgument, "--shape", "the model has no inputs");
  return Resizer(graph, wanted).run();
}

void warn_of_open_inputs(Graph& graph) {
  if (graph.subgraphs.empty()) return;
  const Subgraph& main = graph.main();
  for (size_t i = 0; i < main.inputs.size(); ++i) {
    const Tensor& tensor = main.tensors[static_cast<size_t>(main.inputs[i])];
    if (!is_open(tensor) || tensor.is_constant()) continue;
    Shape used = tensor.shape;
    for (int64_t& size : used) size = size < 0 ? 1 : size;
    const Shape& open = tensor.shape_signature.empty() ? tensor.shape : tensor.shape_signature;
    graph.warnings.push_back(
        tensor.has_rank
            ? fmt::format("the size of input {} is open, {}; all figures are for {}: --shape "
                          "{}:{} or --batch sets another",
                          input_name(main, i), shape_text(open), shape_text(used),
                          input_name(main, i), fmt::join(used, "x"))
            : fmt::format("the file gives no shape for input {}; it is counted as one element: "
                          "--shape {}:1x... sets one",
                          input_name(main, i), input_name(main, i)));
  }
}

Status check_declared_shapes(Graph& graph, std::string_view where) {
  constexpr size_t kMost = 20;
  size_t said = 0;
  for (size_t s = 0; s < graph.subgraphs.size(); ++s) {
    const Subgraph& subgraph = graph.subgraphs[s];
    for (size_t i = 0; i < subgraph.operators.size(); ++i) {
      const Operator& op = subgraph.operators[i];
      const bool moves = op.kind == OpKind::kReshape || op.kind == OpKind::kSplit ||
                         op.kind == OpKind::kConcatenation;
      if ((!moves && !has_weights(op.kind)) || !is_comparable(subgraph, op)) continue;
      const std::string clash =
          moves ? moved_clash(graph, subgraph, op) : weights_clash(subgraph, op);
      if (clash.empty()) continue;
      const std::string place =
          fmt::format("subgraph {}, operator {} ({})", s, i, op_name(op.kind));
      if (!moves)
        return make_error(ErrorCode::kBadModel, fmt::format("{}, {}", where, place),
                          clash + "; no runtime can prepare it: convert the model again");
      if (++said > kMost) continue;
      graph.unsupported.push_back(fmt::format("{}: {}; no runtime can prepare it", place, clash));
      graph.warnings.push_back(graph.unsupported.back());
    }
  }
  return {};
}

}  // namespace edgesage
