#include "src/io/onnx/convert_patterns.h"

#include <cmath>
#include <optional>
#include <string_view>

namespace edgesage::onnx::convert {
namespace {

class Finder {
 public:
  Finder(const GraphTable& graph, const GraphUses& uses) : graph_(graph), uses_(uses) {}

  std::vector<Pattern> run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!uses_.is_needed(i)) continue;
      const std::string_view op = graph_.nodes[i].op_type;
      if (op == "Erf") find_gelu(static_cast<int32_t>(i));
      if (op == "HardSigmoid") find_hard_swish(static_cast<int32_t>(i));
    }
    return std::move(found_);
  }

 private:
  // Of a node with two inputs, one of them constant: the other one.
  [[nodiscard]] int32_t varying(int32_t node, std::string_view op,
                                std::string_view or_op = {}) const {
    if (node < 0) return -1;
    const Node& at = graph_.nodes[static_cast<size_t>(node)];
    if ((at.op_type != op && at.op_type != or_op) || at.inputs.size() != 2) return -1;
    const auto in = uses_.inputs(static_cast<size_t>(node));
    const bool first = uses_.is_constant(in[0]), second = uses_.is_constant(in[1]);
    return first == second ? -1 : in[first ? 1 : 0];
  }
  [[nodiscard]] int32_t output(int32_t node) const {
    const auto out = uses_.outputs(static_cast<size_t>(node));
    return out.empty() ? -1 : out[0];
  }
  [[nodiscard]] int32_t reader(int32_t node) const {
    const int32_t value = output(node);
    return value < 0 ? -1 : uses_.only_reader(value);
  }
  // The factor beside `one` of a product of two values.
  [[nodiscard]] int32_t other_factor(int32_t node, int32_t one) const {
    if (node < 0 || graph_.nodes[static_cast<size_t>(node)].op_type != "Mul") return -1;
    const auto in = uses_.inputs(static_cast<size_t>(node));
    if (in.size() != 2 || (in[0] != one && in[1] != one)) return -1;
    return in[0] == one ? in[1] : in[0];
  }

  void set(OpKind kind, int32_t input, int32_t last, std::initializer_list<int32_t> inside) {
    if (found_.empty()) found_.resize(graph_.nodes.size());
    for (const int32_t node : inside)
      if (node >= 0) found_[static_cast<size_t>(node)].inside = true;
    found_[static_cast<size_t>(last)] = {kind, input, false};
  }

  // x / sqrt(2) -> Erf -> + 1 -> * x -> * 0.5, or * (x * 0.5).
  void find_gelu(int32_t erf) {
    const int32_t scaled = uses_.inputs(static_cast<size_t>(erf))[0];
    if (scaled < 0 || uses_.reads(scaled) != 1) return;
    const int32_t scale = uses_.producer(scaled);
    const int32_t x = varying(scale, "Div", "Mul");
    const int32_t add = reader(erf);
    if (x < 0 || varying(add, "Add") < 0) return;
    const int32_t product = reader(add);
    const int32_t factor = other_factor(product, output(add));
    if (factor < 0) return;
    if (factor == x) {
      const int32_t half = reader(product);
      if (varying(half, "Mul", "Div") >= 0) set(OpKind::kGelu, x, half, {scale, erf, add, product});
      return;
    }
    const int32_t half = uses_.producer(factor);
    if (uses_.reads(factor) == 1 && varying(half, "Mul", "Div") == x)
      set(OpKind::kGelu, x, product, {scale, erf, add, half});
  }

  void find_hard_swish(int32_t node) {
    const Node& at = graph_.nodes[static_cast<size_t>(node)];
    const int32_t x = uses_.inputs(static_cast<size_t>(node))[0];
    const int32_t product = reader(node);
    const double alpha = at.attr_float("alpha", 0.2);
    if (x < 0 || std::abs(alpha - 1.0 / 6) > 1e-3 || product < 0) return;
    if (other_factor(product, output(node)) == x) set(OpKind::kHardSwish, x, product, {node});
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
