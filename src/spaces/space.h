// Search spaces: families of networks, each network made from a seed.
//
//   auto name = NetworkName::parse("mobile-classifier/1/4711");
//   Result<Graph> graph = build_network(*name);
//
// Networks of published spaces (published.h) are also named by their codes:
//
//   auto coded = NetworkName::parse("fbnet/7-8-1-8-4-8-8-8-7-4-1-4-7-3-2-7-3-2-4-2-4-5");
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
  std::string code = {};  // of a published space, canonical; empty: the network is named by seed

  // "space/version/seed" or "space/code".
  [[nodiscard]] std::string to_string() const;
  // kInvalidArgument for other forms, codes that are none of their space, unknown spaces (with the
  // closest known one) and versions.
  [[nodiscard]] static Result<NetworkName> parse(std::string_view text);
  bool operator==(const NetworkName&) const = default;
};

struct BuildNetworkOptions {
  // False: networks named by a code have filters without bytes (PublishedOptions::weights), for
  // costs rather than files.
  bool published_weights = true;
};

// A validated int8 network (by a code with @float32: float) with trained-looking weights;
// `Graph::description` is its name. Errors as for `parse`, and for codes whose network is a
// constant. Milliseconds for most networks, up to half a second for those of megabytes. Safe to
// call from several threads.
[[nodiscard]] Result<Graph> build_network(const NetworkName& name,
                                          const BuildNetworkOptions& options = {});

}  // namespace edgesage
