// Search spaces: families of networks, each network made from a seed.
//
//   auto name = NetworkName::parse("mobile-classifier/1/4711");
//   Result<Graph> graph = build_network(*name);
//
// The same name gives the same graph bit for bit, weights included, on every platform and for every
// version of edgesage that knows the space's version: a change of a sampler is a new version.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/graph/graph.h"
#include "src/spaces/parameter.h"

namespace edgesage {

struct SpaceInfo {
  std::string_view name;  // "mobile-classifier"
  int version = 1;
  std::string_view description;  // one line
  std::vector<const Parameter*> parameters;
};

// All spaces of this build; the newest version of each.
[[nodiscard]] std::span<const SpaceInfo> all_spaces();

struct NetworkName {
  std::string space;
  int version = 1;
  uint64_t seed = 0;

  // "space/version/seed".
  [[nodiscard]] std::string to_string() const;
  // kInvalidArgument for other forms, unknown spaces (with the closest known one) and versions.
  [[nodiscard]] static Result<NetworkName> parse(std::string_view text);
  bool operator==(const NetworkName&) const = default;
};

// A validated int8 network with trained-looking weights; `Graph::description` is its name. Errors
// as for `parse`. Milliseconds for most networks, up to half a second for those of megabytes. Safe
// to call from several threads.
[[nodiscard]] Result<Graph> build_network(const NetworkName& name);

}  // namespace edgesage
