#include "src/io/onnx/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "src/io/onnx/shapes_control.h"
#include "src/io/onnx/shapes_options.h"
#include "src/io/onnx/shapes_rules.h"

namespace edgesage::onnx {
namespace {

// Elements that may be folded in one model: 40 MB of them.
constexpr int64_t kMostFolded = 1'000'000;
// Warnings of one kind that are given in full.
constexpr size_t kMostWarnings = 10;

const char* kind_name(ValueType::Kind kind) {
  switch (kind) {
    case ValueType::Kind::kUnknown:
      return "nothing";
    case ValueType::Kind::kTensor:
      return "a tensor";
    case ValueType::Kind::kSparseTensor:
      return "a sparse tensor";
    case ValueType::Kind::kSequence:
      return "a sequence";
    case ValueType::Kind::kMap:
      return "a map";
    case ValueType::Kind::kOptional:
      return "an optional value";
  }
  return "";
}

// The first warnings of a kind, and how many more there were.
class Warnings {
 public:
  void add(std::string text) {
    if (++count_ <= kMostWarnings) lines_.push_back(std::move(text));
  }
  void give(const char* what, std::vector<std::string>& to) {
    std::ranges::move(lines_, std::back_inserter(to));
    if (count_ > kMostWarnings)
      to.push_back(fmt::format("{} more {}", count_ - kMostWarnings, what));
  }

 private:
  std::vector<std::string> lines_;
  size_t count_ = 0;
};

class Inference {
 public:
  Inference(const Model& model, ResolvedInputs resolved, Inferred& result)
      : model_(model),
        resolved_(std::move(resolved)),
        result_(result),
        facts_(model.graphs.size()),
        running_(model.graphs.size(), false) {
    result_.graphs.resize(model.graphs.size());
    for (size_t g = 0; g < model.graphs.size(); ++g)
      result_.graphs[g].parent = model.graphs[g].parent;
    count_nodes();
  }

  void run() {
    enter_main();
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const auto& nodes = model_.graphs[static_cast<size_t>(frame.graph)].nodes;
      if (frame.node == nodes.size()) {
        leave();
      } else {
        step(frame, nodes[frame.node]);
      }
    }
    report();
  }

 private:
  // A value by the graph that defines it and its place there.
  struct Slot {
    int32_t graph = -1;
    int32_t index = -1;
  };
  struct Frame {
    int32_t graph = 0;
    size_t node = 0;
    size_t undo = 0;  // names defined since the frame began lie behind it
    std::unordered_map<std::string_view, const ValueType*> declared;
    std::unique_ptr<Control> control;  // of the node at hand, while its bodies run
    bool stale = false;                // its inputs are, or one of the bodies gave a stale value
  };

  GraphTable const& table(int32_t graph) const { return model_.graphs[static_cast<size_t>(graph)]; }
  InferredValue& value(const Slot& slot) {
    return result_.graphs[static_cast<size_t>(slot.graph)].values[static_cast<size_t>(slot.index)];
  }
  ValueFacts& facts(const Slot& slot) {
    return facts_[static_cast<size_t>(slot.graph)][static_cast<size_t>(slot.index)];
  }

  // Nodes in each graph and in the bodies below it, from the innermost outwards.
  void count_nodes() {
    const size_t count = model_.graphs.size();
    nodes_below_.resize(count);
    std::vector<int32_t> open(count, 0);
    const auto parent_of = [&](size_t g) {
      const int32_t parent = model_.graphs[g].parent;
      return parent >= 0 && static_cast<size_t>(parent) < count ? parent : -1;
    };
    int64_t all = 0;
    for (size_t g = 0; g < count; ++g) {
      nodes_below_[g] = std::ssize(model_.graphs[g].nodes);
      all += nodes_below_[g];
      if (parent_of(g) >= 0) ++open[static_cast<size_t>(parent_of(g))];
    }
    repeats_left_ = 8 * all + 1000;
    std::vector<size_t> ready;
    for (size_t g = 0; g < count; ++g)
      if (open[g] == 0) ready.push_back(g);
    while (!ready.empty()) {
      const size_t g = ready.back();
      ready.pop_back();
      if (parent_of(g) < 0) continue;
      const auto parent = static_cast<size_t>(parent_of(g));
      nodes_below_[parent] += nodes_below_[g];
      if (--open[parent] == 0) ready.push_back(parent);
    }
  }

  bool may_repeat(const Node& node) {
    int64_t cost = 0;
    for (const int32_t body : bodies_of(node))
      if (body >= 0 && static_cast<size_t>(body) < nodes_below_.size())
        cost += 2 * nodes_below_[static_cast<size_t>(body)];
    if (cost > repeats_left_) return false;
    repeats_left_ -= cost;
    return true;
  }

  Slot find(std::string_view name) const {
    const auto at = scope_.find(name);
    return at == scope_.end() ? Slot{} : at->second;
  }

  void define(int32_t graph, InferredValue value, ValueFacts facts) {
    InferredGraph& into = result_.graphs[static_cast<size_t>(graph)];
    const Slot slot{graph, static_cast<int32_t>(into.values.size())};
    const std::string_view name = value.name;
    into.index[name] = slot.index;
    into.values.push_back(std::move(value));
    facts_[static_cast<size_t>(graph)].push_back(std::move(facts));
    const auto [at, fresh] = scope_.emplace(name, slot);
    undo_.emplace_back(name, fresh ? Slot{} : at->second);
    at->second = slot;
  }

  void begin_frame(int32_t graph) {
    running_[static_cast<size_t>(graph)] = true;
    InferredGraph& into = result_.graphs[static_cast<size_t>(graph)];
    into.values.clear();
    into.index.clear();
    facts_[static_cast<size_t>(graph)].clear();
    const size_t count =
        table(graph).initializers.size() + table(graph).inputs.size() + table(graph).nodes.size();
    into.values.reserve(count);
    into.index.reserve(count);
    scope_.reserve(scope_.size() + count);
    Frame& frame = frames_.emplace_back();
    frame.graph = graph;
    frame.undo = undo_.size();
    for (const Value& value : table(graph).value_info)
      frame.declared.emplace(value.name, &value.type);
    for (const Value& value : table(graph).outputs) frame.declared.emplace(value.name, &value.type);
    for (const Constant& constant : table(graph).initializers)
      define(graph, {constant.name, tensor(constant.element, shape_of(constant.dims)), &constant},
             {});
  }

  void enter_main() {
    begin_frame(0);
    const auto& inputs = table(0).inputs;
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (result_.graphs[0].index.contains(inputs[k].name)) continue;  // has an initialiser
      const ResolvedInput& input = resolved_.inputs[k];
      define(0, {inputs[k].name, input.type, nullptr}, {nullptr, false, input.stale});
    }
  }

  void enter(BodyRun run, bool stale) {
    begin_frame(run.graph);
    const auto& inputs = table(run.graph).inputs;
    for (size_t k = 0; k < inputs.size(); ++k) {
      InferredValue value{inputs[k].name, {}, nullptr};
      if (k < run.inputs.size()) value.type = std::move(run.inputs[k]);
      complete(value, inputs[k].type, stale);
      FoldedPtr folded = k < run.folded.size() ? run.folded[k] : nullptr;
      define(run.graph, std::move(value), {std::move(folded), false, stale});
    }
  }

  void leave() {
    const int32_t graph = frames_.back().graph;
    running_[static_cast<size_t>(graph)] = false;
    std::vector<NodeOutput> outputs;
    bool stale = false;
    for (const Value& output : table(graph).outputs) {
      const Slot slot = find(output.name);
      NodeOutput& out = outputs.emplace_back();
      if (slot.graph < 0) continue;
      out.type = value(slot).type;
      out.folded = facts(slot).folded;
      out.constant = value(slot).constant;
      stale = stale || facts(slot).stale;
    }
    while (undo_.size() > frames_.back().undo) {
      const auto& [name, before] = undo_.back();
      if (before.graph < 0) {
        scope_.erase(name);
      } else {
        scope_[name] = before;
      }
      undo_.pop_back();
    }
    frames_.pop_back();
    if (frames_.empty()) return;
    frames_.back().stale = frames_.back().stale || stale;
    frames_.back().control->done(std::move(outputs));
  }

  // Inputs of a node as they are now; true where one of them is stale.
  bool gather(const Node& node) {
    inputs_.clear();
    bool stale = false;
    for (const std::string_view name : node.inputs) {
      NodeInput& input = inputs_.emplace_back();
      const Slot slot = name.empty() ? Slot{} : find(name);
      if (slot.graph < 0) continue;
      input.type = &value(slot).type;
      input.facts = &facts(slot);
      input.constant = value(slot).constant;
      stale = stale || input.facts->stale;
    }
    return stale;
  }

  // Goes through one node, or enters the next of its bodies.
  void step(Frame& frame, const Node& node) {
    if (frame.control == nullptr) begin_control(frame, node);
    while (frame.control != nullptr) {
      auto run = frame.control->next();
      if (!run) break;
      const bool there = run->graph > 0 && static_cast<size_t>(run->graph) < model_.graphs.size() &&
                         !running_[static_cast<size_t>(run->graph)];
      if (there) return enter(std::move(*run), frame.stale);  // `frame` may have moved
      frame.control->done({});
    }
    bool stale = gather(node);
    NodeContext context(node, inputs_, budget_);
    bool known = true;
    if (frame.control != nullptr) {
      frame.control->finish(context);
      known = frame.control->known();
      stale = stale || frame.stale;
      frame.control.reset();
    } else if (const Rule rule = find_rule(node.domain, node.op_type)) {
      rule(context);
    } else {
      known = false;
    }
    if (!known) ++unknown_[{node.domain, node.op_type}];
    commit(frame, node, context, stale);
    ++frame.node;
  }

  void begin_control(Frame& frame, const Node& node) {
    if (bodies_of(node).empty()) return;
    frame.stale = gather(node);
    frame.control = control_of(node, node.op_type != "Loop" || may_repeat(node));
    frame.control->begin(NodeContext(node, inputs_, budget_));
  }

  void commit(Frame& frame, const Node& node, NodeContext& context, bool stale) {
    if (context.failed())
      failures_.add(fmt::format("{}: {}; the shape of what it makes is not known", title(node),
                                context.failure()));
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      if (node.outputs[o].empty()) continue;
      NodeOutput& output = context.results()[o];
      if (context.failed()) output = {tensor(output.type.element), nullptr, nullptr, std::nullopt};
      InferredValue value{node.outputs[o], std::move(output.type), output.constant};
      if (output.made) {
        value.constant = &result_.folded.emplace_back(std::move(*output.made));
      } else if (value.constant == nullptr && output.folded != nullptr &&
                 output.folded->complete()) {
        value.constant = &result_.folded.emplace_back(store(*output.folded));
      }
      const auto declared = frame.declared.find(value.name);
      if (declared != frame.declared.end()) complete(value, *declared->second, stale);
      define(frame.graph, std::move(value), {std::move(output.folded), false, stale});
    }
  }

  // What the file says where we do not know; ours stays where they contradict each other.
  void complete(InferredValue& value, const ValueType& declared, bool stale) {
    const ValueType said = with_symbols(declared, resolved_.symbols);
    ValueType& ours = value.type;
    if (said.kind == ValueType::Kind::kUnknown) return;
    if (ours.kind == ValueType::Kind::kUnknown) {
      ours = said;
      if (stale)
        for (Dimension& dim : ours.shape) dim.value = -1;
      return;
    }
    bool clash = ours.kind != said.kind;
    if (!clash && ours.element == ElementType::kUndefined) ours.element = said.element;
    if (said.element != ElementType::kUndefined && ours.element != said.element) clash = true;
    if (!clash && ours.inner == nullptr) ours.inner = said.inner;
    if (!clash && said.has_shape) clash = !complete_shape(ours, said.shape, stale);
    if (clash) report_conflict(value, said);
  }

  void report_conflict(const InferredValue& value, const ValueType& said) {
    const ValueType& ours = value.type;
    const auto line = [&](const std::string& theirs, const std::string& own) {
      conflicts_.add(fmt::format("value '{}': the file says {}, computed is {}; the latter is used",
                                 value.name, theirs, own));
    };
    if (ours.kind != said.kind) return line(kind_name(said.kind), kind_name(ours.kind));
    if (ours.element != said.element && said.element != ElementType::kUndefined)
      return line(fmt::format("element type {}", static_cast<int>(said.element)),
                  fmt::format("{}", static_cast<int>(ours.element)));
    line(text(said.shape), text(ours.shape));
  }

  static bool complete_shape(ValueType& ours, const Shape& said, bool stale) {
    if (!ours.has_shape) {
      ours.has_shape = true;
      ours.shape = said;
      if (stale)
        for (Dimension& dim : ours.shape) dim.value = -1;
      return true;
    }
    if (ours.shape.size() != said.size()) return stale;
    bool agree = true;
    for (size_t k = 0; k < said.size(); ++k) {
      Dimension& dim = ours.shape[k];
      if (dim.known() && said[k].known() && dim.value != said[k].value && !stale) agree = false;
      if (!dim.known() && (!stale || !said[k].known())) dim = either(dim, said[k]);
    }
    return agree;
  }

  static std::string title(const Node& node) {
    const std::string_view output =
        node.outputs.empty() ? std::string_view() : node.outputs.front();
    return node.name.empty() ? fmt::format("{} that makes '{}'", node.op_type, output)
                             : fmt::format("{} '{}'", node.op_type, node.name);
  }

  void report() {
    for (const auto& [kind, count] : unknown_)
      strangers_.add(
          fmt::format("operator {}{}{} is not known ({} of them): its outputs are what "
                      "value_info says, or have no shape",
                      kind.first, kind.first.empty() ? "" : ".", kind.second, count));
    strangers_.give("unknown operators", result_.warnings);
    failures_.give("nodes whose shapes cannot be", result_.warnings);
    conflicts_.give("values of which the file says another shape", result_.warnings);
    if (budget_ <= 0)
      result_.warnings.push_back(
          fmt::format("more than {} elements of constants computed; the rest is not", kMostFolded));
    const auto& inputs = table(0).inputs;
    for (const Value& input : inputs) {
      const InferredValue& value =
          result_.graphs[0].values[static_cast<size_t>(result_.graphs[0].index.at(input.name))];
      if (value.constant != nullptr || (value.type.kind != ValueType::Kind::kTensor &&
                                        value.type.kind != ValueType::Kind::kUnknown))
        continue;
      if (!value.type.has_shape) result_.unknown_dimensions.push_back({value.name, -1, {}});
      for (size_t k = 0; k < value.type.shape.size(); ++k)
        if (!value.type.shape[k].known())
          result_.unknown_dimensions.push_back(
              {value.name, static_cast<int32_t>(k), value.type.shape[k].symbol});
    }
  }

  const Model& model_;
  ResolvedInputs resolved_;
  Inferred& result_;
  std::vector<std::vector<ValueFacts>> facts_;  // beside InferredGraph::values
  std::vector<bool> running_;                   // graphs that have a frame
  std::vector<int64_t> nodes_below_;
  int64_t repeats_left_ = 0;
  int64_t budget_ = kMostFolded;
  std::vector<Frame> frames_;
  std::unordered_map<std::string_view, Slot> scope_;
  std::vector<std::pair<std::string_view, Slot>> undo_;
  std::vector<NodeInput> inputs_;
  std::map<std::pair<std::string_view, std::string_view>, size_t> unknown_;
  Warnings strangers_, failures_, conflicts_;
};

}  // namespace

const InferredValue* Inferred::find(int32_t graph, std::string_view name) const {
  for (size_t steps = 0;
       graph >= 0 && static_cast<size_t>(graph) < graphs.size() && steps <= graphs.size();
       ++steps) {
    const InferredGraph& here = graphs[static_cast<size_t>(graph)];
    const auto at = here.index.find(name);
    if (at != here.index.end()) return &here.values[static_cast<size_t>(at->second)];
    graph = here.parent;
  }
  return nullptr;
}

Result<Inferred> infer_types(const Model& model, const ShapeOptions& options) {
  Inferred result;
  if (model.graphs.empty()) return result;
  EDGESAGE_ASSIGN_OR_RETURN(ResolvedInputs resolved,
                            resolve_inputs(model, options, result.warnings));
  Inference(model, std::move(resolved), result).run();
  return result;
}

}  // namespace edgesage::onnx
