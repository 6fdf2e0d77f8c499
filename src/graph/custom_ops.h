// Custom operators that are known by their name.
#pragma once

#include <string>
#include <string_view>

#include "src/graph/graph.h"

namespace edgesage {

enum class CustomFamily : uint8_t {
  kUnknown,   // nothing is known of what it computes
  kFlex,      // an operator of TensorFlow itself ("FlexConv2D"), run by TensorFlow's kernels
  kCompiled,  // a whole network compiled for one accelerator ("edgetpu-custom-op", "ethos-u")
  kKnown,     // a kernel that runtimes bring along ("TFLite_Detection_PostProcess")
};

// kUnknown as well for operators that are no custom ones.
[[nodiscard]] CustomFamily custom_family(const Operator& op);
[[nodiscard]] bool is_flex(const Operator& op);

// The builtin kind that computes the same as an operator of TensorFlow, else the operator's own
// kind: kConv2D for "FlexConv2D", kCustom for "FlexFoo".
[[nodiscard]] OpKind base_kind(const Operator& op);

// One line on a custom operator for people: what it is, what is known of its cost, what to do.
// `graph`'s metadata may say more. Empty for operators that are no custom ones.
[[nodiscard]] std::string describe_custom(const Graph& graph, const Operator& op);

// Whether --strict refuses the operator: nothing is known of what it computes.
[[nodiscard]] bool is_opaque(const Operator& op);

}  // namespace edgesage
