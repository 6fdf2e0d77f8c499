#include "src/transform/select_channels.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/graph/op_registry.h"
#include "src/transform/constants.h"

namespace edgesage {
namespace {

tl::unexpected<Error> wrong(size_t group, std::string message) {
  return make_error(ErrorCode::kInvalidArgument, fmt::format("channel group {}", group),
                    std::move(message));
}

Status check(const ChannelGroups& groups, const ChannelSelection& selection) {
  if (selection.size() != groups.groups.size())
    return make_error(
        ErrorCode::kInvalidArgument, "channel selection",
        fmt::format("{} entries for {} groups", selection.size(), groups.groups.size()));
  for (size_t g = 0; g < selection.size(); ++g) {
    if (selection[g].empty()) continue;
    const ChannelGroup& group = groups.groups[g];
    if (group.fixed()) return wrong(g, "its width cannot change: " + group.reason);
    for (const int32_t unit : selection[g])
      if (unit < 0 || unit >= group.width)
        return wrong(g, fmt::format("unit {}; there are {}", unit, group.width));
  }
  return {};
}

class Selector {
 public:
  Selector(const Graph& graph, const ChannelGroups& groups, const ChannelSelection& selection)
      : out_(graph), groups_(groups), selection_(selection) {}

  Result<Graph> mask() && {
    before_ = out_.main();
    for (const Operator& op : before_.operators) {
      const bool transposed = op.kind == OpKind::kTransposeConv;
      if (op.kind == OpKind::kConv2D || transposed) {
        const int64_t depth = before_.tensors[static_cast<size_t>(op.inputs[1])].shape[3];
        blank(op.inputs[1], 3, depth_runs(op.inputs[transposed ? 2 : 0], depth));
      } else if (op.kind == OpKind::kFullyConnected) {
        const int64_t depth = before_.tensors[static_cast<size_t>(op.inputs[1])].shape[1];
        blank(op.inputs[1], 1, flattened_runs(groups_, before_, op.inputs[0], depth));
      }
    }
    return std::move(out_);
  }

  Result<Graph> run() && {
    before_ = out_.main();
    for (size_t t = 0; t < before_.tensors.size(); ++t) {
      const auto tensor = static_cast<int32_t>(t);
      if (!touched(runs_of(tensor))) continue;
      Tensor& activation = out_.main().tensors[t];
      const std::vector<int64_t> chosen = channels_of(runs_of(tensor));
      activation.shape.back() = static_cast<int64_t>(chosen.size());
      if (!activation.shape_signature.empty())
        activation.shape_signature.back() = activation.shape.back();
    }
    for (size_t i = 0; i < before_.operators.size(); ++i)
      EDGESAGE_RETURN_IF_ERROR(fit(before_.operators[i]));
    return std::move(out_);
  }

 private:
  [[nodiscard]] const std::vector<ChannelRun>& runs_of(int32_t tensor) const {
    return groups_.runs[static_cast<size_t>(tensor)];
  }
  [[nodiscard]] bool touched(const std::vector<ChannelRun>& runs) const {
    return std::any_of(runs.begin(), runs.end(), [&](const ChannelRun& run) {
      return !selection_[static_cast<size_t>(run.group)].empty();
    });
  }
  // Present channels, in the order in which they are afterwards.
  [[nodiscard]] std::vector<int64_t> channels_of(const std::vector<ChannelRun>& runs) const {
    std::vector<int64_t> chosen;
    int64_t begin = 0;
    for (const ChannelRun& run : runs) {
      const auto& selected = selection_[static_cast<size_t>(run.group)];
      const int32_t width = groups_.groups[static_cast<size_t>(run.group)].width;
      const size_t count = selected.empty() ? static_cast<size_t>(width) : selected.size();
      for (size_t u = 0; u < count; ++u) {
        const int64_t unit = selected.empty() ? static_cast<int64_t>(u) : selected[u];
        for (int64_t r = 0; r < run.repeat; ++r) chosen.push_back(begin + unit * run.repeat + r);
      }
      begin += int64_t{width} * run.repeat;
    }
    return chosen;
  }

  // A constant follows the runs along a dimension.
  Status follow(int32_t tensor, size_t dimension, const std::vector<ChannelRun>& runs) {
    if (tensor < 0 || !touched(runs)) return {};
    return take_along(out_, tensor, dimension, channels_of(runs));
  }
  // Entries along a dimension that are not chosen become the filter's zero point.
  void blank(int32_t tensor, size_t dimension, const std::vector<ChannelRun>& runs) {
    if (!touched(runs)) return;
    Tensor& filter = out_.main().tensors[static_cast<size_t>(tensor)];
    const std::span<const std::byte> from = out_.constant(filter);
    if (from.empty()) return;
    const auto length = static_cast<size_t>(filter.shape[dimension]);
    std::vector<bool> keep(length, false);
    for (const int64_t i : channels_of(runs)) keep[static_cast<size_t>(i)] = true;
    size_t inner = static_cast<size_t>(bits_per_element(filter.type)) / 8;
    for (size_t d = dimension + 1; d < filter.shape.size(); ++d)
      inner *= static_cast<size_t>(filter.shape[d]);
    const auto& zeros = filter.quantization.zero_point;
    const std::byte zero =
        static_cast<std::byte>(zeros.empty() ? uint8_t{0} : static_cast<uint8_t>(zeros.front()));
    std::vector<std::byte> bytes(from.begin(), from.end());
    for (size_t at = 0, i = 0; at < bytes.size(); at += inner, i = (i + 1) % length)
      if (!keep[i]) std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), inner, zero);
    filter.buffer = static_cast<int32_t>(out_.buffers.size());
    out_.buffers.push_back(make_buffer(bytes));
  }
  // A value a channel, even where there is but one.
  Status follow_bias(int32_t bias, const std::vector<ChannelRun>& runs) {
    if (bias < 0) return {};
    const size_t rank = before_.tensors[static_cast<size_t>(bias)].shape.size();
    return rank == 0 ? Status() : follow(bias, rank - 1, runs);
  }
  // Slopes and constant operands: a value a channel, or one for all.
  Status follow_vector(int32_t tensor, const std::vector<ChannelRun>& runs) {
    if (tensor < 0) return {};
    const Tensor& constant = before_.tensors[static_cast<size_t>(tensor)];
    if (!constant.is_constant() || constant.shape.empty() || constant.shape.back() <= 1) return {};
    return follow(tensor, constant.shape.size() - 1, runs);
  }

  // The runs that a filter's depth follows: of one group of a grouped convolution, which are alike.
  [[nodiscard]] std::vector<ChannelRun> depth_runs(int32_t data, int64_t depth) const {
    std::vector<ChannelRun> first;
    for (const ChannelRun& run : runs_of(data)) {
      if (groups_.channels(first) >= depth) break;
      first.push_back(run);
    }
    return first;
  }

  Status fit(const Operator& op) {
    const auto input = [&](size_t i) { return i < op.inputs.size() ? op.inputs[i] : kNoTensor; };
    const int32_t to = op.outputs.empty() ? kNoTensor : op.outputs[0];
    switch (op.kind) {
      case OpKind::kConv2D:
      case OpKind::kTransposeConv: {
        const size_t data = op.kind == OpKind::kConv2D ? 0 : 2;
        const int64_t depth = before_.tensors[static_cast<size_t>(input(1))].shape[3];
        EDGESAGE_RETURN_IF_ERROR(follow(input(1), 0, runs_of(to)));
        EDGESAGE_RETURN_IF_ERROR(follow(input(1), 3, depth_runs(input(data), depth)));
        if (data == 2) fit_target(input(0), to);
        return follow_bias(input(data == 0 ? 2 : 3), runs_of(to));
      }
      case OpKind::kDepthwiseConv2D:
        fit_multiplier(op, input(0), to);
        EDGESAGE_RETURN_IF_ERROR(follow(input(1), 3, runs_of(to)));
        return follow_bias(input(2), runs_of(to));
      case OpKind::kFullyConnected: {
        const int64_t depth = before_.tensors[static_cast<size_t>(input(1))].shape[1];
        EDGESAGE_RETURN_IF_ERROR(follow(input(1), 0, runs_of(to)));
        EDGESAGE_RETURN_IF_ERROR(
            follow(input(1), 1, flattened_runs(groups_, before_, input(0), depth)));
        return follow_bias(input(2), runs_of(to));
      }
      case OpKind::kReshape:
        fit_target(input(1), to);
        fit_option(op, to);
        return {};
      default:
        if (to < 0) return {};
        for (size_t i = 0; i < op.inputs.size(); ++i)
          if (!defines_shape(op.kind, i))
            EDGESAGE_RETURN_IF_ERROR(follow_vector(op.inputs[i], runs_of(to)));
        return {};
    }
  }

  // A shape as a constant: its last entry is the number of channels, unless it is open.
  void fit_target(int32_t target, int32_t to) {
    if (target < 0 || !touched(runs_of(to))) return;
    Tensor& tensor = out_.main().tensors[static_cast<size_t>(target)];
    auto values = constant_ints(out_, tensor);
    if (!values || values->empty() || values->back() < 0) return;
    values->back() = out_.main().tensors[static_cast<size_t>(to)].shape.back();
    set_constant_ints(out_, target, *values);
  }
  void fit_multiplier(const Operator& op, int32_t from, int32_t to) {
    if (!touched(runs_of(to))) return;
    const auto channels = [&](int32_t t) {
      return out_.main().tensors[static_cast<size_t>(t)].shape.back();
    };
    const int64_t multiplier = channels(to) / std::max<int64_t>(channels(from), 1);
    const auto index = static_cast<size_t>(&op - before_.operators.data());
    if (multiplier != op.attr_int("depth_multiplier", multiplier))
      out_.main().operators[index].set("depth_multiplier", multiplier);
  }
  void fit_option(const Operator& op, int32_t to) {
    const auto option = op.attr_ints("new_shape");
    if (option.empty() || option.back() < 0 || !touched(runs_of(to))) return;
    std::vector<int64_t> values(option.begin(), option.end());
    values.back() = out_.main().tensors[static_cast<size_t>(to)].shape.back();
    const auto index = static_cast<size_t>(&op - before_.operators.data());
    out_.main().operators[index].set("new_shape", std::move(values));
  }

  Graph out_;
  Subgraph before_;
  const ChannelGroups& groups_;
  const ChannelSelection& selection_;
};

}  // namespace

Result<Graph> select_channels(const Graph& graph, const ChannelGroups& groups,
                              const ChannelSelection& selection) {
  EDGESAGE_RETURN_IF_ERROR(check(groups, selection));
  return Selector(graph, groups, selection).run();
}

Result<Graph> mask_channels(const Graph& graph, const ChannelGroups& groups,
                            const ChannelSelection& selection) {
  EDGESAGE_RETURN_IF_ERROR(check(groups, selection));
  return Selector(graph, groups, selection).mask();
}

}  // namespace edgesage
