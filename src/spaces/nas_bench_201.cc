#include "src/spaces/nas_bench_201.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "src/base/text.h"
#include "src/spaces/code_text.h"

namespace edgesage {
namespace {

using Id = GraphBuilder::Id;

constexpr std::array<std::string_view, 5> kNames{"none", "skip_connect", "nor_conv_1x1",
                                                 "nor_conv_3x3", "avg_pool_3x3"};
constexpr int kNodes = 4;
constexpr std::array<int, 6> kFrom{0, 0, 1, 0, 1, 2};
constexpr std::array<int, 6> kTo{1, 2, 2, 3, 3, 3};
constexpr int kCells = 5;  // of a stage
constexpr std::array<int64_t, 3> kChannels{16, 32, 64};
constexpr int64_t kClasses = 10;

std::optional<CellOperation> operation_of(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<CellOperation>(found - kNames.begin());
}

// The network before it is written: steps that name earlier steps. Only with all readers known can
// activations be fused.
class Plan {
 public:
  enum class Kind : uint8_t { kInput, kConv, kPool, kHalve, kAdd, kRelu };
  struct Step {
    Kind kind = Kind::kInput;
    int a = -1, b = -1;
    int64_t channels = 0, kernel = 1, stride = 1;
    int readers = 0;
    bool rectified = false;  // the activation is part of it
  };

  explicit Plan(bool merge_common) : merge_common_(merge_common) { steps_.push_back({}); }

  int conv(int x, int64_t channels, int64_t kernel, int64_t stride) {
    return append(
        {.kind = Kind::kConv, .a = x, .channels = channels, .kernel = kernel, .stride = stride});
  }
  int relu(int x) { return shared({.kind = Kind::kRelu, .a = x}); }
  int pool(int x) { return shared({.kind = Kind::kPool, .a = x}); }
  int halve(int x) { return shared({.kind = Kind::kHalve, .a = x}); }
  int add(int a, int b) { return shared({.kind = Kind::kAdd, .a = a, .b = b}); }

  // Writes everything and the head behind step `last`.
  Id emit(GraphBuilder& net, int64_t resolution, int last);

 private:
  int append(const Step& step) {
    steps_.push_back(step);
    return static_cast<int>(steps_.size()) - 1;
  }
  int shared(const Step& step) {
    if (merge_common_)
      for (size_t i = 0; i < steps_.size(); ++i)
        if (steps_[i].kind == step.kind && steps_[i].a == step.a && steps_[i].b == step.b)
          return static_cast<int>(i);
    return append(step);
  }
  Step& at(int step) { return steps_[static_cast<size_t>(step)]; }
  void fuse_activations(int last);
  Id emit_step(GraphBuilder& net, const Step& step, const std::vector<Id>& made);

  bool merge_common_;
  std::vector<Step> steps_;
};

void Plan::fuse_activations(int last) {
  for (const Step& step : steps_) {
    if (step.a >= 0) ++at(step.a).readers;
    if (step.b >= 0) ++at(step.b).readers;
  }
  ++at(last).readers;
  for (Step& step : steps_) {
    if (step.kind != Kind::kRelu) continue;
    Step& maker = at(step.a);
    if ((maker.kind == Kind::kConv || maker.kind == Kind::kAdd) && maker.readers == 1)
      maker.rectified = step.rectified = true;
  }
}

Id Plan::emit_step(GraphBuilder& net, const Step& step, const std::vector<Id>& made) {
  const Activation activation = step.rectified ? Activation::kRelu : Activation::kNone;
  const Id a = made[static_cast<size_t>(step.a)];
  switch (step.kind) {
    case Kind::kConv:
      return net.conv_2d(a, {.channels = step.channels,
                             .kernel_h = step.kernel,
                             .kernel_w = step.kernel,
                             .stride_h = step.stride,
                             .stride_w = step.stride,
                             .activation = activation});
    case Kind::kPool:
      return net.average_pool(a, {.kernel_h = 3, .kernel_w = 3, .padding = Padding::kSame});
    case Kind::kHalve:
      return net.average_pool(a, {.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2});
    case Kind::kAdd:
      return net.add(a, made[static_cast<size_t>(step.b)], activation);
    case Kind::kRelu:
      return step.rectified ? a : net.relu(a);
    case Kind::kInput:
      break;
  }
  return kNoTensor;
}

Id Plan::emit(GraphBuilder& net, int64_t resolution, int last) {
  fuse_activations(last);
  Step& end = at(last);
  const bool folded = end.kind == Kind::kConv && end.readers == 1;
  if (folded) end.rectified = true;
  std::vector<Id> made{net.input("image", {1, resolution, resolution, 3})};
  for (size_t i = 1; i < steps_.size(); ++i) made.push_back(emit_step(net, steps_[i], made));
  Id x = made[static_cast<size_t>(last)];
  if (!folded) x = net.scale_and_shift(x, Activation::kRelu);
  return net.fully_connected(net.mean(x, {1, 2}, false), {.units = kClasses});
}

int plan_edge(Plan& plan, CellOperation operation, int x, int64_t channels) {
  switch (operation) {
    case CellOperation::kConv1x1:
      return plan.conv(plan.relu(x), channels, 1, 1);
    case CellOperation::kConv3x3:
      return plan.conv(plan.relu(x), channels, 3, 1);
    case CellOperation::kAveragePool3x3:
      return plan.pool(x);
    default:
      return x;
  }
}

// `cell` is pruned and not constant. -1 stands for nodes that nothing reaches.
int plan_cell(Plan& plan, const NasBench201Cell& cell, int x, int64_t channels) {
  std::array<int, kNodes> node{x, -1, -1, -1};
  for (int to = 1; to < kNodes; ++to) {
    std::vector<int> edges;
    for (size_t i = 0; i < cell.operations.size(); ++i)
      if (kTo[i] == to && cell.operations[i] != CellOperation::kNone)
        edges.push_back(
            plan_edge(plan, cell.operations[i], node[static_cast<size_t>(kFrom[i])], channels));
    for (const int edge : edges) {
      int& sum = node[static_cast<size_t>(to)];
      sum = sum < 0 ? edge : plan.add(sum, edge);
    }
  }
  return node.back();
}

int plan_residual(Plan& plan, int x, int64_t channels) {
  const int inner = plan.conv(plan.relu(x), channels, 3, 2);
  const int block = plan.conv(plan.relu(inner), channels, 3, 1);
  return plan.add(plan.conv(plan.halve(x), channels, 1, 1), block);
}

}  // namespace

Result<NasBench201Cell> NasBench201Cell::parse(std::string_view code) {
  const auto bad_form = [&] {
    return bad_code(code, "not a code of NAS-Bench-201; it is |op~0|+|op~0|op~1|+|op~0|op~1|op~2|");
  };
  NasBench201Cell cell;
  const std::vector<std::string> nodes = split(code, '+');
  if (nodes.size() != kNodes - 1) return bad_form();
  size_t edge = 0;
  for (size_t node = 0; node < nodes.size(); ++node) {
    const std::vector<std::string> edges = split(nodes[node], '|');
    if (edges.size() != node + 3 || !edges.front().empty() || !edges.back().empty())
      return bad_form();
    for (size_t from = 0; from <= node; ++from) {
      const std::string& text = edges[from + 1];
      const size_t mark = text.find('~');
      const auto operation = operation_of(std::string_view(text).substr(0, mark));
      if (!operation)
        return bad_code(
            code, fmt::format("no operation \"{}\"; there are {}",
                              text.substr(0, std::min<size_t>(mark, 40)), fmt::join(kNames, ", ")));
      if (mark == std::string::npos || text.substr(mark) != fmt::format("~{}", from))
        return bad_form();
      cell.operations[edge++] = *operation;
    }
  }
  return cell;
}

std::string NasBench201Cell::code() const {
  std::string code;
  for (size_t i = 0; i < operations.size(); ++i) {
    if (i > 0 && kTo[i] != kTo[i - 1]) code += '+';
    if (kFrom[i] == 0) code += '|';
    code += fmt::format("{}~{}|", kNames[static_cast<size_t>(operations[i])], kFrom[i]);
  }
  return code;
}

NasBench201Cell NasBench201Cell::pruned() const {
  std::array<bool, kNodes> reached{true, false, false, false};
  std::array<bool, kNodes> used{false, false, false, true};
  const auto node = [](auto& nodes, int index) -> bool& {
    return nodes[static_cast<size_t>(index)];
  };
  for (size_t i = 0; i < operations.size(); ++i)
    if (operations[i] != CellOperation::kNone && node(reached, kFrom[i]))
      node(reached, kTo[i]) = true;
  for (size_t i = operations.size(); i-- > 0;)
    if (operations[i] != CellOperation::kNone && node(used, kTo[i])) node(used, kFrom[i]) = true;
  NasBench201Cell kept = *this;
  for (size_t i = 0; i < operations.size(); ++i)
    if (!node(reached, kFrom[i]) || !node(used, kTo[i])) kept.operations[i] = CellOperation::kNone;
  return kept;
}

bool NasBench201Cell::constant() const {
  return pruned().operations == std::array<CellOperation, 6>{};
}

std::string NasBench201Cell::isomorphism_class() const {
  std::array<std::string, kNodes> node{"0", "", "", ""};
  for (int to = 1; to < kNodes; ++to) {
    std::vector<std::string> terms;
    for (size_t i = 0; i < operations.size(); ++i) {
      if (kTo[i] != to) continue;
      const std::string& from = node[static_cast<size_t>(kFrom[i])];
      if (operations[i] == CellOperation::kNone || from == "#")
        terms.emplace_back("#");
      else if (operations[i] == CellOperation::kSkip)
        terms.push_back(from);
      else
        terms.push_back(fmt::format("({})@{}", from, kNames[static_cast<size_t>(operations[i])]));
    }
    std::sort(terms.begin(), terms.end());
    node[static_cast<size_t>(to)] = join(terms, "+");
  }
  return node.back();
}

NasBench201Cell draw_nas_bench_201(Rng& rng) {
  NasBench201Cell cell;
  for (CellOperation& operation : cell.operations)
    operation = static_cast<CellOperation>(rng.integer(0, 4));
  return cell;
}

GraphBuilder::Id emit_nas_bench_201(GraphBuilder& net, const NasBench201Cell& cell,
                                    const NasBench201Options& options) {
  const NasBench201Cell kept = cell.pruned();
  if (kept.constant()) return kNoTensor;
  Plan plan(options.merge_common);
  int x = plan.conv(0, kChannels[0], 3, 1);
  for (const int64_t channels : kChannels) {
    if (channels != kChannels[0]) x = plan_residual(plan, x, channels);
    for (int i = 0; i < kCells; ++i) x = plan_cell(plan, kept, x, channels);
  }
  return plan.emit(net, options.resolution, x);
}

}  // namespace edgesage
