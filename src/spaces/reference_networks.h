// Well-known image classifiers in full size, by name: what compression is judged on.
//
//   auto graph = build_network(*NetworkName::parse("reference/resnet50@96"));
//
// Structure and sizes are the published ones, as a converter leaves them (normalisation folded into
// the convolution before it where there is one, a MUL and an ADD where there is not); weights look
// trained and follow from the name. They are no space to sample from: all_spaces() has them not.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "edgesage/result.h"
#include "src/graph/graph.h"

namespace edgesage {

inline constexpr std::string_view kReferenceSpace = "reference";

struct ReferenceNetwork {
  std::string_view name;         // "resnet50"
  std::string_view description;  // one line, with the source
  int resolution = 224;          // the usual side of its image
  int least_resolution = 32;     // below it a map would have no pixel
};
[[nodiscard]] std::span<const ReferenceNetwork> reference_networks();

// "resnet50", "resnet50@96", "resnet50@96@float32" in one spelling: the usual side is left out.
// kInvalidArgument for other names, with the list, and for sides that the network cannot take.
[[nodiscard]] Result<std::string> canonical_reference(std::string_view code);

// `weights` false: shapes without bytes. Errors as above. A tenth of a second with weights.
[[nodiscard]] Result<Graph> build_reference(std::string_view code, bool weights = true);

}  // namespace edgesage
