#include "src/io/onnx/convert_patterns.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string_view>

#include "src/io/onnx/convert_call.h"

namespace edgesage::onnx::convert {
namespace {

using Group = Pattern::Group;

// Exporters round their constants to as few as four digits.
bool near(double value, double expected) {
  return std::abs(value - expected) <= 2e-3 * std::abs(expected);
}

// A node, or the lack of one (-1), as the walks over groups see it.
class Finder {
 public:
  Finder(const GraphTable& graph, const GraphUses& uses) : graph_(graph), uses_(uses) {}

  std::vector<Pattern> run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!uses_.is_needed(i)) continue;
      const std::string_view op = graph_.nodes[i].op_type;
      const auto node = static_cast<int32_t>(i);
      if (op == "Erf") find_gelu(node);
      if (op == "Tanh") find_gelu_by_tanh(node);
      if (op == "HardSigmoid") find_hard_sigmoid_product(node);
      if (op == "Clip") find_clipped_product(node);
      if (op == "Sqrt") find_layer_norm(node);
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool is(int32_t node, std::string_view op) const {
    return node >= 0 && graph_.nodes[static_cast<size_t>(node)].op_type == op;
  }
  [[nodiscard]] int32_t input(int32_t node, size_t i = 0) const {
    if (node < 0) return -1;
    const auto in = uses_.inputs(static_cast<size_t>(node));
    return i < in.size() ? in[i] : -1;
  }
  [[nodiscard]] int32_t output(int32_t node) const {
    if (node < 0) return -1;
    const auto out = uses_.outputs(static_cast<size_t>(node));
    return out.empty() ? -1 : out[0];
  }
  [[nodiscard]] int32_t reader(int32_t node) const {
    const int32_t value = output(node);
    return value < 0 ? -1 : uses_.only_reader(value);
  }
  [[nodiscard]] int32_t producer(int32_t value) const {
    return value < 0 ? -1 : uses_.producer(value);
  }
  // The node that makes the value, where `reads` inputs in all read it.
  [[nodiscard]] int32_t maker(int32_t value, int32_t reads = 1) const {
    return value >= 0 && uses_.reads(value) == reads ? uses_.producer(value) : -1;
  }
  // A constant of one element.
  [[nodiscard]] std::optional<double> number(int32_t value) const {
    if (value < 0 || !uses_.is_constant(value)) return std::nullopt;
    const Constant& constant = *uses_.inferred(value)->constant;
    if (!std::ranges::all_of(constant.dims, [](int64_t dim) { return dim == 1; }))
      return std::nullopt;
    const auto values = constant_reals(constant);
    return values && values->size() == 1 ? std::optional(values->front()) : std::nullopt;
  }
  // Of an `op` of two inputs, one of them constant: the other one.
  [[nodiscard]] int32_t varying(int32_t node, std::string_view op) const {
    if (!is(node, op) || graph_.nodes[static_cast<size_t>(node)].inputs.size() != 2) return -1;
    const auto in = uses_.inputs(static_cast<size_t>(node));
    const bool first = uses_.is_constant(in[0]), second = uses_.is_constant(in[1]);
    return first == second ? -1 : in[first ? 1 : 0];
  }
  [[nodiscard]] int32_t constant_of(int32_t node) const {
    return uses_.is_constant(input(node, 0)) ? input(node, 0) : input(node, 1);
  }
  // x of x + `value`; -1 for all else.
  [[nodiscard]] int32_t plus(int32_t node, double value) const {
    const int32_t x = varying(node, "Add");
    return x >= 0 && near(number(constant_of(node)).value_or(0), value) ? x : -1;
  }
  // x of x * `factor`, also written as a division.
  [[nodiscard]] int32_t times(int32_t node, double factor) const {
    if (const int32_t x = varying(node, "Mul"); x >= 0)
      return near(number(constant_of(node)).value_or(0), factor) ? x : -1;
    const int32_t x = varying(node, "Div");
    const bool divides = x >= 0 && x == input(node, 0);
    return divides && near(number(input(node, 1)).value_or(0), 1 / factor) ? x : -1;
  }
  // The factor beside `one` of a product of two values.
  [[nodiscard]] int32_t other_factor(int32_t node, int32_t one) const {
    if (!is(node, "Mul") || uses_.inputs(static_cast<size_t>(node)).size() != 2) return -1;
    if (input(node, 0) == one) return input(node, 1);
    return input(node, 1) == one ? input(node, 0) : -1;
  }

  // `last` makes the result; nodes may leave out the name of theirs, and then there is no group.
  void set(const Pattern& pattern, int32_t last, std::initializer_list<int32_t> inside) {
    if (output(last) < 0) return;
    if (found_.empty()) found_.resize(graph_.nodes.size());
    for (const int32_t node : inside)
      if (node >= 0 && node != last) found_[static_cast<size_t>(node)].inside = true;
    found_[static_cast<size_t>(last)] = pattern;
  }
  void set(Group group, int32_t x, int32_t last, std::initializer_list<int32_t> inside) {
    Pattern pattern;
    pattern.group = group;
    pattern.input = x;
    set(pattern, last, inside);
  }

  // 0.5 * x * (1 + curve), in any order; `curve` is of x, and `parts` its nodes.
  void find_gelu_behind(Group group, int32_t curve, int32_t x,
                        std::initializer_list<int32_t> parts) {
    const int32_t add = reader(curve);
    if (x < 0 || plus(add, 1) != output(curve)) return;
    const int32_t product = reader(add);
    if (product < 0) return;
    int32_t last = -1, half = -1;
    if (times(product, 0.5) == output(add)) {  // x * (0.5 * (1 + curve))
      half = product;
      last = reader(product);
      if (other_factor(last, output(half)) != x) return;
    } else if (const int32_t factor = other_factor(product, output(add)); factor == x) {
      last = reader(product);  // 0.5 * (x * (1 + curve))
      half = product;
      if (times(last, 0.5) != output(product)) return;
    } else {  // (0.5 * x) * (1 + curve)
      half = maker(factor);
      last = product;
      if (times(half, 0.5) != x) return;
    }
    if (output(last) < 0) return;
    set(group, x, last, parts);
    for (const int32_t node : {curve, add, half, product})
      if (node != last) found_[static_cast<size_t>(node)].inside = true;
  }

  // curve = erf(x / sqrt(2)).
  void find_gelu(int32_t erf) {
    const int32_t scale = maker(input(erf));
    find_gelu_behind(Group::kGelu, erf, times(scale, std::sqrt(0.5)), {scale});
  }

  // curve = tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)).
  void find_gelu_by_tanh(int32_t tanh) {
    const int32_t scale = maker(input(tanh));
    const int32_t sum = maker(times(scale, std::sqrt(0.63661977)));
    if (!is(sum, "Add")) return;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const int32_t x = input(sum, i), weight = maker(input(sum, 1 - i));
      const int32_t cube = maker(times(weight, 0.044715));
      if (is(cube, "Pow") && input(cube) == x && near(number(input(cube, 1)).value_or(0), 3))
        return find_gelu_behind(Group::kGeluByTanh, tanh, x, {scale, sum, weight, cube});
      const int32_t square = maker(other_factor(cube, x));
      if (square >= 0 && is(square, "Mul") && input(square) == x && input(square, 1) == x)
        return find_gelu_behind(Group::kGeluByTanh, tanh, x, {scale, sum, weight, cube, square});
    }
  }

  void find_hard_sigmoid_product(int32_t node) {
    const double alpha = graph_.nodes[static_cast<size_t>(node)].attr_float("alpha", 0.2);
    const int32_t x = input(node), product = reader(node);
    if (x >= 0 && near(alpha, 1.0 / 6) && product >= 0 && other_factor(product, output(node)) == x)
      set(Group::kHardSwish, x, product, {node});
  }

  [[nodiscard]] bool clips(int32_t node, double low, double high) const {
    const Node& at = graph_.nodes[static_cast<size_t>(node)];
    constexpr double kNone = std::numeric_limits<double>::max();
    const auto bound = [&](const char* name, size_t i) {
      return at.inputs.size() > i ? number(input(node, i)).value_or(kNone)
                                  : static_cast<double>(at.attr_float(name, kNone));
    };
    return bound("min", 1) == low && bound("max", 2) == high;
  }

  // x * clip(x + 3, 0, 6) / 6, divided first or last.
  void find_clipped_product(int32_t clip) {
    const int32_t add = maker(input(clip));
    const int32_t x = plus(add, 3), next = reader(clip);
    if (x < 0 || next < 0 || !clips(clip, 0, 6)) return;
    const bool divided = times(next, 1.0 / 6) == output(clip);
    const int32_t last = reader(next);
    if (last < 0) return;
    const bool product =
        divided ? other_factor(last, output(next)) == x
                : other_factor(next, output(clip)) == x && times(last, 1.0 / 6) == output(next);
    if (product) set(Group::kHardSwish, x, last, {add, clip, next});
  }

  // Over the dimensions from the result on, sides of 1 kept.
  [[nodiscard]] std::optional<int64_t> mean_axis(int32_t node) const {
    if (!is(node, "ReduceMean")) return std::nullopt;
    const Node& at = graph_.nodes[static_cast<size_t>(node)];
    const InferredValue* in = input(node) < 0 ? nullptr : uses_.inferred(input(node));
    if (in == nullptr || !in->type.has_shape || at.attr_int("keepdims", 1) == 0)
      return std::nullopt;
    const auto rank = std::ssize(in->type.shape);
    const auto given = at.attr_ints("axes");
    std::vector<int64_t> axes(given.begin(), given.end());
    if (axes.empty() && input(node, 1) >= 0 && uses_.is_constant(input(node, 1)))
      axes = constant_integers(*uses_.inferred(input(node, 1))->constant)
                 .value_or(std::vector<int64_t>{});
    for (int64_t& axis : axes) axis = axis < 0 ? axis + rank : axis;
    std::ranges::sort(axes);
    const int64_t first = rank - std::ssize(axes);
    for (size_t i = 0; i < axes.size(); ++i)
      if (axes[i] != first + static_cast<int64_t>(i)) return std::nullopt;
    return axes.empty() || first < 0 ? std::nullopt : std::optional(first);
  }
  // x of x - mean(x).
  [[nodiscard]] int32_t centred(int32_t node, std::optional<int64_t>& axis) const {
    if (!is(node, "Sub")) return -1;
    const int32_t mean = producer(input(node, 1));
    axis = mean_axis(mean);
    return axis && input(mean) == input(node) ? input(node) : -1;
  }

  // d / sqrt(mean(d^2) + epsilon) * scale + shift of d = x - mean(x).
  void find_layer_norm(int32_t root) {
    const int32_t add = maker(input(root)), division = reader(root);
    const int32_t variance = maker(varying(add, "Add"));
    if (!is(division, "Div") || input(division, 1) != output(root)) return;
    const int32_t square = is(variance, "ReduceMean") ? maker(input(variance)) : -1;
    const int32_t difference = input(square);
    const bool squares = (is(square, "Pow") && near(number(input(square, 1)).value_or(0), 2)) ||
                         (is(square, "Mul") && input(square, 1) == difference);
    if (!squares || difference < 0) return;
    const int32_t below = producer(difference), above = producer(input(division));
    std::optional<int64_t> axis, again;
    const int32_t x = centred(below, axis);
    if (x < 0 || centred(above, again) != x || again != axis || mean_axis(variance) != axis) return;
    // The difference is one value or two; nobody else reads it, nor the mean.
    const int32_t squared_reads = is(square, "Pow") ? 1 : 2;
    const bool one = below == above;
    if (uses_.reads(difference) != squared_reads + (one ? 1 : 0)) return;
    if (!one && uses_.reads(input(division)) != 1) return;
    const int32_t mean = producer(input(below, 1)), other = producer(input(above, 1));
    const int32_t readers = !one && mean == other ? 2 : 1;
    if (uses_.reads(input(below, 1)) != readers || uses_.reads(input(above, 1)) != readers) return;

    Pattern pattern;
    pattern.group = Group::kLayerNorm;
    pattern.input = x;
    pattern.axis = *axis;
    pattern.epsilon = number(constant_of(add)).value_or(0);
    int32_t last = division, scaled = -1;
    if (const int32_t next = reader(last); varying(next, "Mul") >= 0) {
      pattern.scale = constant_of(next);
      last = scaled = next;
    }
    if (const int32_t next = reader(last); varying(next, "Add") >= 0) {
      pattern.shift = constant_of(next);
      last = next;
    }
    set(pattern, last, {mean, other, below, above, square, variance, add, root, division, scaled});
  }

  const GraphTable& graph_;
  const GraphUses& uses_;
  std::vector<Pattern> found_;
};

}  // namespace

std::vector<Pattern> find_patterns(const GraphTable& graph, const GraphUses& uses) {
  return Finder(graph, uses).run();
}

}  // namespace edgesage::onnx::convert
