#include "src/analysis/tflm_lifetimes.h"

#include <array>

namespace edgesage {
namespace {

// The subgraphs that an operator calls, in order; -1: none.
std::array<int64_t, 2> called_subgraphs(const Operator& op) {
  switch (op.kind) {
    case OpKind::kIf:
      return {op.attr_int("then_subgraph_index", 0), op.attr_int("else_subgraph_index", 0)};
    case OpKind::kWhile:
      return {op.attr_int("cond_subgraph_index", 0), op.attr_int("body_subgraph_index", 0)};
    case OpKind::kCallOnce:
      return {op.attr_int("init_subgraph_index", 0), -1};
    default:
      return {-1, -1};
  }
}

class Walk {
 public:
  explicit Walk(const Graph& graph) : graph_(graph) {
    for (const Subgraph& subgraph : graph.subgraphs) {
      lifetimes_.tensors.emplace_back(subgraph.tensors.size());
      lifetimes_.operators.emplace_back(subgraph.operators.size());
    }
  }

  Result<TflmLifetimes> run() {
    constexpr int32_t kMostSteps = 2'000'000;
    enter(0);
    while (!calls_.empty()) {
      if (step_ > kMostSteps)
        return make_error(ErrorCode::kUnsupported, "",
                          "its subgraphs call each other without an end in sight");
      advance();
    }
    lifetimes_.steps = step_ + 1;
    return std::move(lifetimes_);
  }

 private:
  // A subgraph on its way: the operator it is at, and how many of its calls are done.
  struct Call {
    size_t subgraph = 0;
    size_t op = 0;
    size_t calls_done = 0;
    bool started = false;  // the operator
    int32_t start = 0;     // step at which it started
  };

  void touch(StepRange& range, int32_t first) {
    if (range.first < 0) range.first = first;
    range.last = step_;
  }
  void create(StepRange& range) const {
    if (range.first < 0) range.first = step_;
  }

  std::vector<StepRange>& tensors(size_t subgraph) { return lifetimes_.tensors[subgraph]; }

  void enter(size_t subgraph) {
    for (const int32_t tensor : graph_.subgraphs[subgraph].inputs)
      touch(tensors(subgraph)[static_cast<size_t>(tensor)], step_);
    calls_.push_back({subgraph, 0, 0, false, 0});
  }

  void leave() {
    const size_t subgraph = calls_.back().subgraph;
    for (const int32_t tensor : graph_.subgraphs[subgraph].outputs)
      touch(tensors(subgraph)[static_cast<size_t>(tensor)], step_);
    calls_.pop_back();
  }

  void advance() {
    Call& call = calls_.back();
    const Subgraph& subgraph = graph_.subgraphs[call.subgraph];
    if (call.op == subgraph.operators.size()) return leave();
    const Operator& op = subgraph.operators[call.op];
    std::vector<StepRange>& ranges = tensors(call.subgraph);
    if (!call.started) {
      call.started = true;
      call.calls_done = 0;
      call.start = ++step_;
      for (const int32_t tensor : op.outputs)
        if (tensor != kNoTensor) create(ranges[static_cast<size_t>(tensor)]);
    }
    const auto called = called_subgraphs(op);
    if (call.calls_done < called.size() && called[call.calls_done] >= 0) {
      const auto next = static_cast<size_t>(called[call.calls_done++]);
      ++step_;
      if (next < graph_.subgraphs.size()) enter(next);  // `call` is no longer valid
      return;
    }
    for (const int32_t tensor : op.inputs)
      if (tensor != kNoTensor) ranges[static_cast<size_t>(tensor)].last = step_;
    for (const int32_t tensor : op.outputs)
      if (tensor != kNoTensor) ranges[static_cast<size_t>(tensor)].last = step_;
    touch(lifetimes_.operators[call.subgraph][call.op], call.start);
    call.started = false;
    ++call.op;
  }

  const Graph& graph_;
  TflmLifetimes lifetimes_;
  std::vector<Call> calls_;
  int32_t step_ = 0;
};

}  // namespace

Result<TflmLifetimes> tflm_lifetimes(const Graph& graph) { return Walk(graph).run(); }

}  // namespace edgesage
