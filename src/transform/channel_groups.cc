#include "src/transform/channel_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "src/graph/op_registry.h"
#include "src/transform/constants.h"

namespace edgesage {
namespace {

// Every channel of every activation is an atom; union-find makes units of them.
class Atoms {
 public:
  explicit Atoms(const Subgraph& subgraph) {
    int64_t total = 0;
    for (const Tensor& tensor : subgraph.tensors) {
      first_.push_back(total);
      const bool counted = !tensor.is_constant() && tensor.has_rank && !tensor.shape.empty() &&
                           tensor.shape.back() > 0 && tensor.shape.back() <= kMostChannels;
      width_.push_back(counted ? tensor.shape.back() : 0);
      total += width_.back();
    }
    parent_.resize(static_cast<size_t>(total));
    std::iota(parent_.begin(), parent_.end(), 0);
    reason_.resize(parent_.size());
  }

  [[nodiscard]] int64_t width(int32_t tensor) const {
    return tensor < 0 ? 0 : width_[static_cast<size_t>(tensor)];
  }
  [[nodiscard]] int64_t atom(int32_t tensor, int64_t channel) const {
    return first_[static_cast<size_t>(tensor)] + channel;
  }
  [[nodiscard]] int64_t root(int64_t atom) {
    while (parent_[static_cast<size_t>(atom)] != atom) {
      int64_t& parent = parent_[static_cast<size_t>(atom)];
      parent = parent_[static_cast<size_t>(parent)];
      atom = parent;
    }
    return atom;
  }
  // The lower atom stands for both, so that numbers do not depend on the order of unions.
  void join(int64_t a, int64_t b) {
    a = root(a);
    b = root(b);
    if (a == b) return;
    if (b < a) std::swap(a, b);
    parent_[static_cast<size_t>(b)] = a;
    auto& reason = reason_[static_cast<size_t>(a)];
    if (reason.empty()) reason = std::move(reason_[static_cast<size_t>(b)]);
  }
  void fix(int32_t tensor, const std::string& reason) {
    for (int64_t c = 0; c < width(tensor); ++c) {
      auto& known = reason_[static_cast<size_t>(root(atom(tensor, c)))];
      if (known.empty()) known = reason;
    }
  }
  [[nodiscard]] const std::string& reason(int64_t atom) {
    return reason_[static_cast<size_t>(root(atom))];
  }
  [[nodiscard]] size_t tensors() const { return width_.size(); }

 private:
  // A last dimension above this is no channel count: audio samples, tables.
  static constexpr int64_t kMostChannels = 1 << 16;

  std::vector<int64_t> first_, width_, parent_;
  std::vector<std::string> reason_;  // of roots
};

class Dependencies {
 public:
  Dependencies(const Graph& graph, const ChannelGroupOptions& options)
      : graph_(graph),
        subgraph_(graph.main()),
        options_(options),
        atoms_(subgraph_),
        uses_(use_counts(subgraph_)) {}

  Atoms run() && {
    for (const int32_t tensor : subgraph_.inputs) atoms_.fix(tensor, "it enters the graph");
    for (const int32_t tensor : subgraph_.outputs) atoms_.fix(tensor, "it leaves the graph");
    for (size_t t = 0; t < subgraph_.tensors.size(); ++t)
      if (subgraph_.tensors[t].is_variable)
        atoms_.fix(static_cast<int32_t>(t), "it is kept between runs");
    for (size_t i = 0; i < subgraph_.operators.size(); ++i) {
      const Operator& op = subgraph_.operators[i];
      const char* problem = visit(op);
      if (problem == nullptr) continue;
      const std::string reason = fmt::format("operator {} ({}) {}", i, op_name(op.kind), problem);
      for (const auto* list : {&op.inputs, &op.outputs})
        for (const int32_t tensor : *list) atoms_.fix(tensor, reason);
    }
    return std::move(atoms_);
  }

 private:
  [[nodiscard]] const Tensor& tensor(int32_t t) const {
    return subgraph_.tensors[static_cast<size_t>(t)];
  }
  [[nodiscard]] bool constant(int32_t t) const { return t >= 0 && tensor(t).is_constant(); }
  [[nodiscard]] static int32_t input(const Operator& op, size_t i) {
    return i < op.inputs.size() ? op.inputs[i] : kNoTensor;
  }

  // Slicing a constant for one of its readers would change it for the others.
  [[nodiscard]] bool shared(int32_t t) const {
    return uses_[static_cast<size_t>(t)] > 1 && tensor(t).element_count() > 1;
  }

  // Channels stay where they are; nullptr, or what is wrong.
  const char* pass(int32_t from, int32_t to) {
    if (from < 0 || to < 0 || atoms_.width(from) == 0) return "has channels that are not known";
    if (atoms_.width(from) != atoms_.width(to)) return "changes the number of channels";
    for (int64_t c = 0; c < atoms_.width(from); ++c)
      atoms_.join(atoms_.atom(from, c), atoms_.atom(to, c));
    return nullptr;
  }

  // Channels in `shares` parts keep equal parts: the same place of each is one unit.
  void tie_shares(int32_t t, int64_t shares) {
    const int64_t part = atoms_.width(t) / shares;
    for (int64_t c = part; c < atoms_.width(t); ++c)
      atoms_.join(atoms_.atom(t, c), atoms_.atom(t, c % part));
  }

  const char* convolution(const Operator& op, size_t data, int64_t depth) {
    const int32_t from = input(op, data), filter = input(op, 1);
    if (!constant(filter) || shared(filter)) return "has weights that are computed or shared";
    const int32_t bias = input(op, data == 0 ? 2 : 3);
    if (bias >= 0 && (!constant(bias) || shared(bias)))
      return "has a bias that is computed or shared";
    if (tensor(filter).sparsity) return "has sparse weights";
    const int64_t channels = atoms_.width(from);
    if (depth <= 0 || channels == 0 || channels % depth != 0)
      return "has channels that are not known";
    const int64_t groups = channels / depth;
    if (groups == 1) return nullptr;
    const int32_t to = op.outputs[0];
    if (atoms_.width(to) % groups != 0) return "has uneven groups";
    tie_shares(from, groups);
    tie_shares(to, groups);
    return nullptr;
  }

  const char* depthwise(const Operator& op) {
    const int32_t from = input(op, 0), to = op.outputs[0], filter = input(op, 1);
    if (!constant(filter) || shared(filter)) return "has weights that are computed or shared";
    if (const int32_t bias = input(op, 2); bias >= 0 && (!constant(bias) || shared(bias)))
      return "has a bias that is computed or shared";
    const int64_t in = atoms_.width(from), out = atoms_.width(to);
    if (in == 0 || out % in != 0) return "has channels that are not known";
    if (in == 1 && options_.free_multiplier) return nullptr;
    const int64_t multiplier = out / in;
    for (int64_t c = 0; c < out; ++c)
      atoms_.join(atoms_.atom(from, c / multiplier), atoms_.atom(to, c));
    return nullptr;
  }

  const char* dense(const Operator& op) {
    const int32_t filter = input(op, 1);
    if (!constant(filter) || shared(filter)) return "has weights that are computed or shared";
    if (tensor(filter).sparsity) return "has sparse weights";
    if (const int32_t bias = input(op, 2); bias >= 0 && (!constant(bias) || shared(bias)))
      return "has a bias that is computed or shared";
    if (op.outputs.size() != 1 || op.attr_int("weights_format", 0) != 0)
      return "has shuffled weights";
    const int64_t depth = tensor(filter).shape.size() == 2 ? tensor(filter).shape[1] : 0;
    const int64_t width = atoms_.width(input(op, 0));
    // Rows may be flattened images; the sum over a batch of them may not.
    if (width == 0 || depth % width != 0) return "reads rows that do not end with a channel";
    return nullptr;
  }

  const char* elementwise(const Operator& op) {
    const int32_t to = op.outputs[0];
    for (const int32_t from : op.inputs) {
      if (from < 0) return "lacks an input";
      const Tensor& operand = tensor(from);
      const int64_t width = operand.shape.empty() ? 1 : operand.shape.back();
      if (operand.is_constant()) {
        if (width > 1 && shared(from)) return "shares a constant";
        if (operand.element_count() != width) return "has a constant that is not one of channels";
        if (width != 1 && width != atoms_.width(to)) return "broadcasts channels";
        continue;
      }
      // One channel for all: it stays one.
      if (width == 1 && atoms_.width(to) != 1) {
        atoms_.fix(from, "it is broadcast to all channels");
        continue;
      }
      if (const char* problem = pass(from, to)) return problem;
    }
    return nullptr;
  }

  const char* concatenation(const Operator& op) {
    const int32_t to = op.outputs[0];
    const auto rank = static_cast<int64_t>(tensor(to).shape.size());
    const int64_t axis = op.attr_int("axis", 0);
    const bool of_channels = axis == -1 || axis == rank - 1;
    int64_t offset = 0;
    for (const int32_t from : op.inputs) {
      if (from < 0 || constant(from) || atoms_.width(from) == 0) return "joins a constant";
      if (!of_channels) {
        if (const char* problem = pass(from, to)) return problem;
        continue;
      }
      if (offset + atoms_.width(from) > atoms_.width(to)) return "has channels that are not known";
      for (int64_t c = 0; c < atoms_.width(from); ++c)
        atoms_.join(atoms_.atom(from, c), atoms_.atom(to, offset + c));
      offset += atoms_.width(from);
    }
    return nullptr;
  }

  const char* split(const Operator& op) {
    const int32_t from = input(op, 1);
    const auto axes = input(op, 0) < 0 ? std::nullopt : constant_ints(graph_, tensor(input(op, 0)));
    if (!axes || axes->size() != 1 || atoms_.width(from) == 0) return "splits what is not known";
    const auto rank = static_cast<int64_t>(tensor(from).shape.size());
    const bool of_channels = (*axes)[0] == -1 || (*axes)[0] == rank - 1;
    if (!of_channels) {
      for (const int32_t to : op.outputs)
        if (const char* problem = pass(from, to)) return problem;
      return nullptr;
    }
    const auto parts = static_cast<int64_t>(op.outputs.size());
    if (atoms_.width(from) % parts != 0) return "splits unevenly";
    tie_shares(from, parts);
    const int64_t part = atoms_.width(from) / parts;
    for (int64_t p = 0; p < parts; ++p) {
      const int32_t to = op.outputs[static_cast<size_t>(p)];
      if (atoms_.width(to) != part) return "splits unevenly";
      for (int64_t c = 0; c < part; ++c)
        atoms_.join(atoms_.atom(from, p * part + c), atoms_.atom(to, c));
    }
    return nullptr;
  }

  // Dimensions before the last may be regrouped freely; places may be flattened into channels.
  const char* reshape(const Operator& op) {
    const int32_t from = input(op, 0), to = op.outputs[0];
    const int64_t in = atoms_.width(from), out = atoms_.width(to);
    if (in == 0 || out == 0) return "has channels that are not known";
    if (op.inputs.size() > 1 && shared(op.inputs[1])) return "shares its target";
    if (in == out) return pass(from, to);
    // [n, h, w, c] to [n, h w c]: the same channel of every place is one unit.
    if (out % in != 0) return "regroups channels";
    for (int64_t c = 0; c < out; ++c) atoms_.join(atoms_.atom(from, c % in), atoms_.atom(to, c));
    return nullptr;
  }

  const char* depth_to_space(const Operator& op) {
    const int32_t from = input(op, 0), to = op.outputs[0];
    const int64_t out = atoms_.width(to);
    if (out == 0 || atoms_.width(from) % out != 0) return "has channels that are not known";
    for (int64_t c = 0; c < atoms_.width(from); ++c)
      atoms_.join(atoms_.atom(from, c), atoms_.atom(to, c % out));
    return nullptr;
  }

  const char* reduce(const Operator& op) {
    const int32_t from = input(op, 0), to = op.outputs[0];
    const auto axes = input(op, 1) < 0 ? std::nullopt : constant_ints(graph_, tensor(input(op, 1)));
    const auto rank = static_cast<int64_t>(tensor(from).shape.size());
    if (!axes) return "reduces what is not known";
    for (const int64_t axis : *axes)
      if (axis == -1 || axis == rank - 1) return "reduces channels";
    return pass(from, to);
  }

  const char* pad(const Operator& op) {
    const auto pads = input(op, 1) < 0 ? std::nullopt : constant_ints(graph_, tensor(input(op, 1)));
    if (!pads || pads->size() < 2) return "pads what is not known";
    if (pads->back() != 0 || (*pads)[pads->size() - 2] != 0) return "pads channels";
    return pass(input(op, 0), op.outputs[0]);
  }

  const char* transpose(const Operator& op) {
    const auto order =
        input(op, 1) < 0 ? std::nullopt : constant_ints(graph_, tensor(input(op, 1)));
    if (!order || order->empty()) return "has an order that is not known";
    if (order->back() != static_cast<int64_t>(order->size()) - 1) return "moves channels";
    return pass(input(op, 0), op.outputs[0]);
  }

  const char* prelu(const Operator& op) {
    const int32_t slopes = input(op, 1);
    if (!constant(slopes) || shared(slopes)) return "has slopes that are computed or shared";
    if (tensor(slopes).shape.empty() ||
        tensor(slopes).element_count() != tensor(slopes).shape.back())
      return "has slopes that are not one a channel";
    return pass(input(op, 0), op.outputs[0]);
  }

  const char* visit(const Operator& op) {
    if (!is_complete(op)) return "lacks an input or output";
    switch (op.kind) {
      case OpKind::kConv2D:
      case OpKind::kTransposeConv: {
        const size_t data = op.kind == OpKind::kConv2D ? 0 : 2;
        const int32_t filter = input(op, 1);
        if (filter < 0 || tensor(filter).shape.size() != 4) return "has no filter";
        return convolution(op, data, tensor(filter).shape[3]);
      }
      case OpKind::kDepthwiseConv2D:
        return depthwise(op);
      case OpKind::kFullyConnected:
        return dense(op);
      case OpKind::kAdd:
      case OpKind::kSub:
      case OpKind::kMul:
      case OpKind::kDiv:
      case OpKind::kMaximum:
      case OpKind::kMinimum:
      case OpKind::kSquaredDifference:
        return elementwise(op);
      case OpKind::kConcatenation:
        return concatenation(op);
      case OpKind::kSplit:
        return split(op);
      case OpKind::kReshape:
        return reshape(op);
      case OpKind::kDepthToSpace:
        return depth_to_space(op);
      case OpKind::kMean:
      case OpKind::kSum:
      case OpKind::kReduceMax:
      case OpKind::kReduceMin:
        return reduce(op);
      case OpKind::kPad:
        return pad(op);
      case OpKind::kTranspose:
        return transpose(op);
      case OpKind::kPrelu:
        return prelu(op);
      case OpKind::kAveragePool2D:
      case OpKind::kMaxPool2D:
      case OpKind::kRelu:
      case OpKind::kRelu6:
      case OpKind::kReluN1To1:
      case OpKind::kLogistic:
      case OpKind::kTanh:
      case OpKind::kHardSwish:
      case OpKind::kLeakyRelu:
      case OpKind::kElu:
      case OpKind::kGelu:
      case OpKind::kQuantize:
      case OpKind::kDequantize:
      case OpKind::kSoftmax:
      case OpKind::kResizeBilinear:
      case OpKind::kResizeNearestNeighbor:
        return pass(input(op, 0), op.outputs[0]);
      default:
        return "has no rule for channels";
    }
  }

  const Graph& graph_;
  const Subgraph& subgraph_;
  const ChannelGroupOptions& options_;
  Atoms atoms_;
  std::vector<int32_t> uses_;
};

// Units become groups: two are of one group where they occur in the same tensors as often, so that
// they may stand for each other.
class Grouping {
 public:
  explicit Grouping(Atoms atoms) : atoms_(std::move(atoms)) {}

  ChannelGroups run() && {
    number_units();
    std::map<std::vector<int32_t>, int32_t> by_places;
    ChannelGroups result;
    group_of_.resize(places_.size());
    rank_.resize(places_.size());
    for (size_t unit = 0; unit < places_.size(); ++unit) {
      // A fixed unit never stands for one that is not.
      std::vector<int32_t> key = places_[unit];
      key.push_back(reason_[unit].empty() ? -1 : -2);
      const auto [group, fresh] =
          by_places.emplace(std::move(key), static_cast<int32_t>(result.groups.size()));
      if (fresh) {
        result.groups.push_back({0, reason_[unit], places_[unit]});
        auto& tensors = result.groups.back().tensors;
        tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
      }
      group_of_[unit] = group->second;
      rank_[unit] = result.groups[static_cast<size_t>(group->second)].width++;
    }
    result.runs.resize(atoms_.tensors());
    for (size_t t = 0; t < atoms_.tensors(); ++t) find_runs(static_cast<int32_t>(t), result);
    // A tensor in which units are out of order: no width of theirs may change.
    for (const int32_t tensor : disordered_)
      for (const int32_t unit : units_[static_cast<size_t>(tensor)]) {
        ChannelGroup& group =
            result.groups[static_cast<size_t>(group_of_[static_cast<size_t>(unit)])];
        if (!group.fixed()) group.reason = "its channels are interleaved with others";
      }
    return result;
  }

 private:
  void number_units() {
    std::map<int64_t, int32_t> numbers;
    units_.resize(atoms_.tensors());
    for (size_t t = 0; t < atoms_.tensors(); ++t) {
      for (int64_t c = 0; c < atoms_.width(static_cast<int32_t>(t)); ++c) {
        const int64_t root = atoms_.root(atoms_.atom(static_cast<int32_t>(t), c));
        const auto [number, fresh] = numbers.emplace(root, static_cast<int32_t>(places_.size()));
        if (fresh) {
          places_.emplace_back();
          reason_.push_back(atoms_.reason(root));
        }
        units_[t].push_back(number->second);
        places_[static_cast<size_t>(number->second)].push_back(static_cast<int32_t>(t));
      }
    }
  }

  void find_runs(int32_t tensor, ChannelGroups& result) {
    const std::vector<int32_t>& units = units_[static_cast<size_t>(tensor)];
    std::vector<ChannelRun> runs;
    for (size_t at = 0; at < units.size();) {
      const auto first = static_cast<size_t>(units[at]);
      int32_t repeat = 1;
      while (at + static_cast<size_t>(repeat) < units.size() &&
             units[at + static_cast<size_t>(repeat)] == units[at])
        ++repeat;
      const int32_t group = group_of_[first];
      const int32_t width = result.groups[static_cast<size_t>(group)].width;
      // A lone unit that is repeated over and over is a run of its own each time.
      if (width == 1) repeat = 1;
      for (int32_t u = 0; u < width; ++u)
        for (int32_t r = 0; r < repeat; ++r, ++at) {
          const bool fits = at < units.size() &&
                            group_of_[static_cast<size_t>(units[at])] == group &&
                            rank_[static_cast<size_t>(units[at])] == u;
          if (fits) continue;
          disordered_.push_back(tensor);
          return;
        }
      runs.push_back({group, repeat});
    }
    result.runs[static_cast<size_t>(tensor)] = std::move(runs);
  }

  Atoms atoms_;
  std::vector<std::vector<int32_t>> units_;   // by tensor and channel
  std::vector<std::vector<int32_t>> places_;  // tensors of each unit, with repetitions
  std::vector<std::string> reason_;           // by unit
  std::vector<int32_t> group_of_, rank_;      // by unit
  std::vector<int32_t> disordered_;
};

}  // namespace

int64_t ChannelGroups::channels(const std::vector<ChannelRun>& of) const {
  int64_t sum = 0;
  for (const ChannelRun& run : of)
    sum += int64_t{groups[static_cast<size_t>(run.group)].width} * run.repeat;
  return sum;
}

ChannelGroups channel_groups(const Graph& graph, const ChannelGroupOptions& options) {
  return Grouping(Dependencies(graph, options).run()).run();
}

std::vector<ChannelRun> flattened_runs(const ChannelGroups& groups, const Subgraph& subgraph,
                                       int32_t tensor, int64_t depth) {
  const std::vector<ChannelRun>& runs = groups.runs[static_cast<size_t>(tensor)];
  const Tensor& activation = subgraph.tensors[static_cast<size_t>(tensor)];
  const int64_t width = groups.channels(runs);
  if (width == 0 || activation.shape.empty() || depth % width != 0) return {};
  std::vector<ChannelRun> all;
  for (int64_t place = 0; place < depth / width; ++place)
    all.insert(all.end(), runs.begin(), runs.end());
  return all;
}

}  // namespace edgesage
