#include "src/transform/blocks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "src/transform/refit.h"

namespace edgesage {
namespace {

constexpr size_t kMostOperators = 40;

// Kernels of these take any scale of a quantised input.
bool takes_any_scale(OpKind kind) {
  switch (kind) {
    case OpKind::kConv2D:
    case OpKind::kDepthwiseConv2D:
    case OpKind::kFullyConnected:
    case OpKind::kTransposeConv:
    case OpKind::kAdd:
    case OpKind::kSub:
    case OpKind::kMul:
    case OpKind::kMean:
    case OpKind::kLogistic:
    case OpKind::kHardSwish:
    case OpKind::kQuantize:
    case OpKind::kDequantize:
      return true;
    default:
      return false;
  }
}

class Finder {
 public:
  explicit Finder(const Graph& graph) : main_(graph.main()), index_(main_) {}

  std::vector<Block> run() const {
    std::vector<Block> blocks;
    for (size_t i = 0; i < main_.operators.size(); ++i) {
      const Operator& op = main_.operators[i];
      std::optional<Block> block;
      if (op.kind == OpKind::kAdd)
        block = residual(static_cast<int32_t>(i), op);
      else if (op.kind == OpKind::kConv2D)
        block = separable(static_cast<int32_t>(i), op);
      if (block && alike(*block)) blocks.push_back(std::move(*block));
    }
    return blocks;
  }

 private:
  [[nodiscard]] const Tensor& tensor(int32_t t) const {
    return main_.tensors[static_cast<size_t>(t)];
  }
  [[nodiscard]] bool activation(int32_t t) const { return t >= 0 && !tensor(t).is_constant(); }
  [[nodiscard]] int32_t producer(int32_t t) const {
    return index_.producer[static_cast<size_t>(t)];
  }

  // Operators that lead from `input` to `output` and read nothing else; none where there are such.
  [[nodiscard]] std::optional<std::set<int32_t>> between(int32_t input, int32_t output) const {
    std::set<int32_t> found;
    std::vector<int32_t> waiting{output};
    while (!waiting.empty()) {
      const int32_t t = waiting.back();
      waiting.pop_back();
      if (t == input) continue;
      const int32_t op = producer(t);
      if (op < 0 || found.size() > kMostOperators) return std::nullopt;
      if (!found.insert(op).second) continue;
      for (const int32_t in : main_.operators[static_cast<size_t>(op)].inputs)
        if (activation(in)) waiting.push_back(in);
    }
    return found;
  }

  [[nodiscard]] std::optional<Block> residual(int32_t index, const Operator& op) const {
    if (op.inputs.size() != 2 || !activation(op.inputs[0]) || !activation(op.inputs[1]))
      return std::nullopt;
    for (const size_t shortcut : {size_t{0}, size_t{1}}) {
      const int32_t from = op.inputs[shortcut], branch = op.inputs[1 - shortcut];
      if (from == branch || tensor(from).shape != tensor(branch).shape) continue;
      auto inside = between(from, branch);
      if (!inside || inside->empty()) continue;
      inside->insert(index);
      return Block{from, op.outputs[0], {inside->begin(), inside->end()}};
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Block> separable(int32_t index, const Operator& op) const {
    const int32_t middle = op.inputs[0];
    const int32_t before = middle >= 0 ? producer(middle) : -1;
    if (before < 0) return std::nullopt;
    const Operator& depthwise = main_.operators[static_cast<size_t>(before)];
    if (depthwise.kind != OpKind::kDepthwiseConv2D || depthwise.inputs[0] < 0) return std::nullopt;
    return Block{depthwise.inputs[0], op.outputs[0], {before, index}};
  }

  // The output can stand in for the input and the other way round.
  [[nodiscard]] bool alike(const Block& block) const {
    const Tensor &in = tensor(block.input), &out = tensor(block.output);
    if (in.shape != out.shape || in.type != out.type || in.is_variable ||
        in.quantization.scale.size() != out.quantization.scale.size())
      return false;
    if (std::ranges::find(main_.outputs, block.output) != main_.outputs.end()) return false;
    const bool quantised = !out.quantization.scale.empty();
    const auto accepts = [&](int32_t op) {
      return !quantised || takes_any_scale(main_.operators[static_cast<size_t>(op)].kind);
    };
    const auto& readers = index_.consumers[static_cast<size_t>(block.output)];
    const auto& inner = index_.consumers[static_cast<size_t>(block.input)];
    // A repeated block reads its own output, so its first operators are readers too.
    return std::ranges::all_of(readers, accepts) && std::ranges::all_of(inner, [&](int32_t op) {
             return !std::ranges::binary_search(block.operators, op) || accepts(op);
           });
  }

  const Subgraph& main_;
  GraphIndex index_;
};

void replace_input(Operator& op, int32_t from, int32_t to) {
  for (int32_t& t : op.inputs)
    if (t == from) t = to;
}

}  // namespace

std::vector<Block> shape_keeping_blocks(const Graph& graph) { return Finder(graph).run(); }

void drop_block(Graph& graph, const Block& block) {
  for (Operator& op : graph.main().operators) replace_input(op, block.output, block.input);
  remove_unused(graph);
  refit_bias_scales(graph);
}

std::vector<int32_t> drop_blocks(Graph& graph, std::span<const Block> blocks) {
  // From the last to the first: what reads a dropped block's input may have to read another's.
  std::vector<Block> order(blocks.begin(), blocks.end());
  std::ranges::sort(order, [](const Block& a, const Block& b) {
    return a.operators.back() > b.operators.back();
  });
  for (const Block& block : order)
    for (Operator& op : graph.main().operators) replace_input(op, block.output, block.input);
  std::vector<int32_t> old_tensor = remove_unused(graph);
  const std::vector<Operator> before = graph.main().operators;
  refit_bias_scales(graph, BiasValues::kReal);
  // Biases of other scales are tensors of their own, behind the others.
  old_tensor.resize(graph.main().tensors.size(), kNoTensor);
  for (size_t i = 0; i < before.size(); ++i)
    for (size_t k = 0; k < before[i].inputs.size(); ++k)
      if (const int32_t now = graph.main().operators[i].inputs[k]; now != before[i].inputs[k])
        old_tensor[static_cast<size_t>(now)] = old_tensor[static_cast<size_t>(before[i].inputs[k])];
  return old_tensor;
}

void repeat_block(Graph& graph, const Block& block) {
  Subgraph& main = graph.main();
  std::map<int32_t, int32_t> copies{{block.input, block.output}};
  std::vector<Operator> fresh;
  for (const int32_t index : block.operators) {
    Operator op = main.operators[static_cast<size_t>(index)];
    op.name.clear();
    for (int32_t& t : op.inputs)
      if (const auto copy = copies.find(t); copy != copies.end()) t = copy->second;
    for (int32_t& t : op.outputs) {
      if (t < 0) continue;
      Tensor tensor = main.tensors[static_cast<size_t>(t)];
      tensor.name += "_again";
      const auto number = static_cast<int32_t>(main.tensors.size());
      main.tensors.push_back(std::move(tensor));
      copies[t] = number;
      t = number;
    }
    fresh.push_back(std::move(op));
  }
  const int32_t output = copies.at(block.output);
  for (Operator& op : main.operators) replace_input(op, block.output, output);
  const auto behind = main.operators.begin() + block.operators.back() + 1;
  main.operators.insert(behind, std::make_move_iterator(fresh.begin()),
                        std::make_move_iterator(fresh.end()));
  refit_bias_scales(graph);
}

}  // namespace edgesage
