// Rules for reductions.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "src/io/onnx/convert_call.h"

namespace edgesage::onnx::convert {
namespace {

Outcome nothing() { return std::vector<Val>{}; }

// ONNX dimensions that go; nullopt where they are not known.
std::optional<std::vector<int64_t>> axes_of(const Call& call) {
  const size_t rank = call.rank(0);
  auto given = call.ints_of("axes", 1);
  if (!given && call.has(1)) return std::nullopt;
  if (!given || given->empty()) {
    if (call.node.attr_int("noop_with_empty_axes", 0) != 0) return std::vector<int64_t>{};
    given.emplace(rank);
    std::iota(given->begin(), given->end(), 0);
  }
  std::vector<int64_t> axes;
  for (const int64_t value : *given) {
    const auto axis = Call::axis(value, rank);
    if (!axis) return std::nullopt;
    axes.push_back(*axis);
  }
  std::ranges::sort(axes);
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

// `before` and `after` are done to every element before and after the reduction; kUnknown: nothing.
Outcome reduce(Call& call, OpKind before, OpKind kind, OpKind after) {
  if (!call.has(0)) return nothing();
  const auto axes = axes_of(call);
  if (!axes) return nothing();
  if (axes->empty() && before == OpKind::kUnknown && after == OpKind::kUnknown)
    return one(call.in(0));
  const Made made = call.made();
  const DimOrder order = call.layout(0);
  Id x = call.x(0, order);
  if (before != OpKind::kUnknown) x = call.net.unary(before, x, made);
  const bool keep = call.node.attr_int("keepdims", 1) != 0;
  std::vector<int64_t> places;
  DimOrder rest;
  Shape shape = call.shape(0), narrow;
  for (size_t s = 0; s < order.size(); ++s) {
    const bool gone = std::ranges::find(*axes, order[s]) != axes->end();
    // A side of 1 that is no dimension (a row as an image) goes with those that go.
    const bool filler = order[s] == kNoDim && !keep;
    if (gone || filler) places.push_back(static_cast<int64_t>(s));
    if (gone) shape[static_cast<size_t>(order[s])] = 1;
    if (!gone || keep) rest.push_back(order[s]);
  }
  for (size_t d = 0; d < shape.size(); ++d)
    if (keep || std::ranges::find(*axes, static_cast<int64_t>(d)) == axes->end())
      narrow.push_back(shape[d]);
  x = call.net.reduce(kind, x, places, keep, made);
  if (after != OpKind::kUnknown) x = call.net.unary(after, x, made);
  View view(shape, rest);
  if (!keep)
    if (auto fewer = view.reshaped(narrow)) view = *std::move(fewer);
  return one(call.result(x, std::move(view)));
}

template <OpKind kind, OpKind before = OpKind::kUnknown, OpKind after = OpKind::kUnknown>
Outcome rule(Call& call) {
  return reduce(call, before, kind, after);
}

constexpr std::array kRules{
    NamedRule{"ReduceMean", rule<OpKind::kMean>},
    NamedRule{"ReduceSum", rule<OpKind::kSum>},
    NamedRule{"ReduceMax", rule<OpKind::kReduceMax>},
    NamedRule{"ReduceMin", rule<OpKind::kReduceMin>},
    NamedRule{"ReduceProd", rule<OpKind::kReduceProd>},
    NamedRule{"ReduceL1", rule<OpKind::kSum, OpKind::kAbs>},
    NamedRule{"ReduceL2", rule<OpKind::kSum, OpKind::kSquare, OpKind::kSqrt>},
    NamedRule{"ReduceSumSquare", rule<OpKind::kSum, OpKind::kSquare>},
    NamedRule{"ReduceLogSum", rule<OpKind::kSum, OpKind::kUnknown, OpKind::kLog>},
    NamedRule{"ReduceLogSumExp", rule<OpKind::kSum, OpKind::kExp, OpKind::kLog>},
};

}  // namespace

std::span<const NamedRule> reduction_rules() { return kRules; }

}  // namespace edgesage::onnx::convert
