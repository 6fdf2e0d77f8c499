#include "src/lower/control_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "src/graph/op_registry.h"
#include "src/lower/operator_macs.h"
#include "src/lower/operator_shapes.h"

namespace edgesage {
namespace {

int64_t times(int64_t a, int64_t b) {
  const int64_t factors[] = {a, b};
  return saturating_product(factors);
}

// Alternatives of which one runs, and subgraphs that all run.
struct Calls {
  std::vector<int32_t> one_of;
  std::vector<SubgraphRun> all;
};

Calls calls_of(const Operator& op) {
  Calls calls;
  const auto index = [&op](std::string_view attribute, int64_t otherwise) {
    const int64_t value = op.attr_int(attribute, otherwise);
    return value < 0 || value > std::numeric_limits<int32_t>::max() ? -1
                                                                    : static_cast<int32_t>(value);
  };
  const int64_t trips = std::max<int64_t>(op.attr_int("trip_count", 1), 0);
  switch (op.kind) {
    case OpKind::kIf:
      calls.one_of = {index("then_subgraph_index", 0), index("else_subgraph_index", 0)};
      break;
    case OpKind::kStablehloCase:
      for (const int64_t branch : op.attr_ints("branch_subgraph_indices"))
        if (branch >= 0 && branch <= std::numeric_limits<int32_t>::max())
          calls.one_of.push_back(static_cast<int32_t>(branch));
      break;
    case OpKind::kWhile:
    case OpKind::kStablehloWhile:
      // A loop without a condition is one that is counted (ONNX).
      if (op.find("cond_subgraph_index") != nullptr)
        calls.all.push_back({index("cond_subgraph_index", 0), saturating_sum(trips, 1)});
      calls.all.push_back({index("body_subgraph_index", 0), trips});
      break;
    case OpKind::kCall:
      calls.all.push_back({index("subgraph", 0), 1});
      break;
    case OpKind::kStablehloComposite:
      calls.all.push_back({index("decomposition_subgraph_index", 0), 1});
      break;
    default:
      break;
  }
  return calls;
}

// How many inputs of the operator come before those that its subgraphs get.
size_t inputs_before_arguments(OpKind kind) {
  return kind == OpKind::kIf || kind == OpKind::kStablehloCase ? 1 : 0;
}

}  // namespace

bool is_control_flow(OpKind kind) {
  switch (kind) {
    case OpKind::kIf:
    case OpKind::kWhile:
    case OpKind::kCallOnce:
    case OpKind::kCall:
    case OpKind::kStablehloWhile:
    case OpKind::kStablehloCase:
    case OpKind::kStablehloComposite:
      return true;
    default:
      return false;
  }
}

SubgraphWork::SubgraphWork(const Graph& graph) : graph_(graph), macs_(graph.subgraphs.size(), 0) {
  enum class State : uint8_t { kUnseen, kOpen, kDone };
  std::vector<State> state(graph.subgraphs.size(), State::kUnseen);
  struct Frame {
    size_t subgraph;
    std::vector<int32_t> callees;
    size_t next = 0;
  };
  std::vector<Frame> stack;
  const auto open = [&](size_t index) {
    state[index] = State::kOpen;
    Frame frame{index, {}};
    for (const Operator& op : graph.subgraphs[index].operators) {
      if (!is_control_flow(op.kind)) continue;
      const Calls calls = calls_of(op);
      frame.callees.insert(frame.callees.end(), calls.one_of.begin(), calls.one_of.end());
      for (const SubgraphRun& run : calls.all) frame.callees.push_back(run.subgraph);
    }
    stack.push_back(std::move(frame));
  };
  for (size_t root = 0; root < graph.subgraphs.size(); ++root) {
    if (state[root] == State::kUnseen) open(root);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next < frame.callees.size()) {
        const int32_t callee = frame.callees[frame.next++];
        const bool exists = callee >= 0 && static_cast<size_t>(callee) < state.size();
        if (exists && state[static_cast<size_t>(callee)] == State::kUnseen)
          open(static_cast<size_t>(callee));
        continue;
      }
      int64_t total = 0;
      const Subgraph& subgraph = graph.subgraphs[frame.subgraph];
      for (const Operator& op : subgraph.operators)
        total = saturating_sum(total, macs(subgraph, op));
      macs_[frame.subgraph] = total;
      state[frame.subgraph] = State::kDone;
      stack.pop_back();
    }
  }
}

std::vector<SubgraphRun> SubgraphWork::runs(const Operator& op) const {
  if (!is_control_flow(op.kind)) return {};
  Calls calls = calls_of(op);
  const auto missing = [this](int32_t index) {
    return index < 0 || static_cast<size_t>(index) >= macs_.size();
  };
  std::erase_if(calls.one_of, missing);
  std::erase_if(calls.all, [&](const SubgraphRun& run) { return missing(run.subgraph); });
  if (!calls.one_of.empty()) {
    const auto size = [this](int32_t index) {
      const auto i = static_cast<size_t>(index);
      return std::pair(macs_[i], graph_.subgraphs[i].operators.size());
    };
    calls.all.push_back({*std::ranges::max_element(calls.one_of, {}, size), 1});
  }
  return std::move(calls.all);
}

int64_t SubgraphWork::macs(const Subgraph& subgraph, const Operator& op) const {
  if (!is_control_flow(op.kind)) return own_macs(subgraph, op);
  int64_t total = 0;
  for (const SubgraphRun& run : runs(op))
    total = saturating_sum(total, times(macs_[static_cast<size_t>(run.subgraph)], run.times));
  return total;
}

bool has_control_flow(const Graph& graph) {
  return !graph.subgraphs.empty() &&
         std::ranges::any_of(graph.main().operators,
                             [](const Operator& op) { return is_control_flow(op.kind); });
}

namespace {

class Expander {
 public:
  explicit Expander(const Graph& graph)
      : graph_(graph), work_(graph), is_open_(graph.subgraphs.size(), 0) {
    size_t held = 0;
    for (const Subgraph& subgraph : graph.subgraphs) held += items(subgraph);
    constexpr size_t kAlwaysAllowed = 1'000'000;
    most_items_ = std::max(kAlwaysAllowed, 4 * held);
  }

  Expansion run() {
    out_.graph.format = graph_.format;
    out_.graph.description = graph_.description;
    out_.graph.buffers = graph_.buffers;
    out_.graph.metadata = graph_.metadata;
    Subgraph& main = out_.graph.subgraphs.emplace_back();
    main.name = graph_.main().name;
    main.tensors = graph_.main().tensors;
    main.inputs = graph_.main().inputs;
    main.outputs = graph_.main().outputs;
    Frame first;
    for (size_t i = 0; i < main.tensors.size(); ++i)
      first.tensors.push_back(static_cast<int32_t>(i));
    is_open_[0] = 1;
    stack_.push_back(std::move(first));
    while (!stack_.empty()) step();
    return std::move(out_);
  }

 private:
  struct Frame {
    size_t subgraph = 0;
    std::vector<int32_t> tensors;  // of the subgraph, as tensors of the result
    int64_t times = 1;
    int32_t origin = -1;  // -1: each operator is its own (the main subgraph)
    size_t at = 0;        // operator
    // Of the control flow at `at`, while it is expanded:
    bool inside = false;
    std::vector<SubgraphRun> runs;
    size_t next_run = 0;
    std::vector<int32_t> results;
  };

  static size_t items(const Subgraph& subgraph) {
    return 1 + subgraph.operators.size() + subgraph.tensors.size() + subgraph.inputs.size() +
           subgraph.outputs.size();
  }
  [[nodiscard]] int32_t origin(const Frame& frame) const {
    return frame.origin >= 0 ? frame.origin : static_cast<int32_t>(frame.at);
  }

  void step() {
    Frame& frame = stack_.back();
    const Subgraph& subgraph = graph_.subgraphs[frame.subgraph];
    if (frame.at == subgraph.operators.size()) {
      leave();
      return;
    }
    const Operator& op = subgraph.operators[frame.at];
    if (!frame.inside && is_control_flow(op.kind)) {
      frame.inside = true;
      frame.runs = work_.runs(op);
      frame.next_run = 0;
      frame.results.clear();
      say(frame, op);
    }
    if (frame.inside && frame.next_run < frame.runs.size()) {
      const SubgraphRun called = frame.runs[frame.next_run++];
      enter(called, op);
      return;
    }
    append(frame, op);
    frame.inside = false;
    ++frame.at;
  }

  void append(const Frame& frame, const Operator& op) {
    Operator& added = out_.graph.main().operators.emplace_back(op);
    for (auto* operands : {&added.inputs, &added.outputs, &added.intermediates})
      for (int32_t& tensor : *operands)
        if (tensor >= 0) tensor = frame.tensors[static_cast<size_t>(tensor)];
    added.inputs.insert(added.inputs.end(), frame.results.begin(), frame.results.end());
    out_.origin.push_back(origin(frame));
    out_.repeat.push_back(frame.times);
  }

  void enter(const SubgraphRun& run, const Operator& op) {
    const Frame& caller = stack_.back();
    const auto index = static_cast<size_t>(run.subgraph);
    const std::string place =
        fmt::format("subgraph {}, operator {} ({})", caller.subgraph, caller.at, op_name(op.kind));
    if (is_open_[index] != 0) {
      refuse(
          fmt::format("{}: subgraph {} contains itself; it is not expanded, and its cost is not "
                      "known",
                      place, index));
      return;
    }
    const Subgraph& body = graph_.subgraphs[index];
    items_ += items(body);
    if (items_ > most_items_) {
      refuse(
          fmt::format("the subgraphs unfold to more than {} operators and tensors; further ones "
                      "are left out of the rows",
                      most_items_));
      return;
    }
    Frame frame;
    frame.subgraph = index;
    frame.times = times(caller.times, run.times);
    frame.origin = origin(caller);
    frame.tensors = take_tensors(body, op, caller);
    is_open_[index] = 1;
    stack_.push_back(std::move(frame));
  }

  // The body's inputs are the operator's; all else is its own.
  std::vector<int32_t> take_tensors(const Subgraph& body, const Operator& op, const Frame& caller) {
    std::vector<Tensor>& tensors = out_.graph.main().tensors;
    std::vector<int32_t> numbers(body.tensors.size(), kNoTensor);
    const size_t before = inputs_before_arguments(op.kind);
    for (size_t i = 0; i < body.inputs.size() && i + before < op.inputs.size(); ++i) {
      const int32_t given = op.inputs[i + before];
      if (given >= 0 && body.inputs[i] >= 0)
        numbers[static_cast<size_t>(body.inputs[i])] = caller.tensors[static_cast<size_t>(given)];
    }
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] != kNoTensor) continue;
      numbers[i] = static_cast<int32_t>(tensors.size());
      Tensor& added = tensors.emplace_back(body.tensors[i]);
      added.quantization.block_scales = added.quantization.block_zero_points = kNoTensor;
    }
    return numbers;
  }

  void leave() {
    const Frame done = std::move(stack_.back());
    stack_.pop_back();
    is_open_[done.subgraph] = 0;
    if (stack_.empty()) return;
    for (const int32_t output : graph_.subgraphs[done.subgraph].outputs)
      if (output >= 0) stack_.back().results.push_back(done.tensors[static_cast<size_t>(output)]);
  }

  // What was assumed; of loops and branches that are alike, once.
  void say(const Frame& frame, const Operator& op) {
    const std::string place =
        fmt::format("subgraph {}, operator {} ({})", frame.subgraph, frame.at, op_name(op.kind));
    if (op.kind == OpKind::kIf || op.kind == OpKind::kStablehloCase) {
      if (!frame.runs.empty())
        warn(fmt::format("{}: the larger branch counts, subgraph {}", place,
                         frame.runs.front().subgraph));
    } else if (op.kind == OpKind::kCallOnce) {
      warn(fmt::format("{}: runs before the first inference alone and is not counted", place));
    } else if (op.kind == OpKind::kWhile || op.kind == OpKind::kStablehloWhile) {
      const auto* trips = op.find("trip_count");
      warn(trips == nullptr
               ? fmt::format("{}: the file does not say how often the loop runs; its body is "
                             "counted once: --trip-count N sets the number",
                             place)
               : fmt::format("{}: the body is counted {} times", place,
                             std::max<int64_t>(op.attr_int("trip_count", 1), 0)));
    }
  }

  void warn(std::string text) {
    constexpr size_t kMost = 20;
    if (said_.size() <= kMost && said_.insert(text).second)
      out_.warnings.push_back(said_.size() <= kMost ? std::move(text)
                                                    : "further control flow is not listed");
  }
  void refuse(std::string text) {
    constexpr size_t kMost = 20;
    if (out_.unsupported.size() >= kMost || !said_.insert(text).second) return;
    out_.unsupported.push_back(text);
    out_.warnings.push_back(std::move(text));
  }

  const Graph& graph_;
  SubgraphWork work_;
  std::vector<uint8_t> is_open_;       // subgraphs that are being expanded
  size_t items_ = 0, most_items_ = 0;  // taken from bodies
  std::vector<Frame> stack_;
  std::set<std::string> said_;
  Expansion out_;
};

}  // namespace

Expansion expand_control_flow(const Graph& graph) { return Expander(graph).run(); }

}  // namespace edgesage
