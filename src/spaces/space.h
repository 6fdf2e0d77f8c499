// Search spaces: families of networks, each network made from a seed.
//
//   auto name = NetworkName::parse("mobile-classifier/1/4711");
//   Result<Graph> graph = build_network(*name);
//
// Networks of published spaces (published.h) are also named by their codes:
//
//   auto coded = NetworkName::parse("fbnet/7-8-1-8-4-8-8-8-7-4-1-4-7-3-2-7-3-2-4-2-4-5");
//
// Mutations of model files (model_library.h) are named by their base file's bytes and a seed:
//
//   auto mutated = NetworkName::parse("mutation/1/1f2e3d4c5b6a7988~17");
//
// Well-known networks in full size (reference_networks.h) have names of their own:
// "reference/resnet50@96".
//
// The same name gives the same graph bit for bit, weights included, on every platform and for every
// version of edgesage that knows the space's version: a change of a sampler is a new version, and
// older versions stay buildable.
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

// Mutations are a space of names that has no networks without files: `all_spaces` leaves it out.
inline constexpr std::string_view kMutationSpace = "mutation";

// All spaces of this build; the newest version of each.
[[nodiscard]] std::span<const SpaceInfo> all_spaces();

struct NetworkName {
  std::string space;
  int version = 1;
  uint64_t seed = 0;
  // Of a published space, canonical, or of a mutation; empty: the network is named by seed.
  std::string code = {};

  // "space/version/seed", "space/code" or "mutation/version/code".
  [[nodiscard]] std::string to_string() const;
  // kInvalidArgument for other forms, codes that are none of their space, unknown spaces (with the
  // closest known one) and versions.
  [[nodiscard]] static Result<NetworkName> parse(std::string_view text);
  bool operator==(const NetworkName&) const = default;
};

// The network of a seed in the newest version of a space; kInvalidArgument for unknown spaces.
[[nodiscard]] Result<NetworkName> newest_network(std::string_view space, uint64_t seed);

class ModelLibrary;

struct BuildNetworkOptions {
  // Where the base files of mutations are; null: default_model_library().
  const ModelLibrary* models = nullptr;
  // False: networks named by a code have filters without bytes (PublishedOptions::weights), for
  // costs rather than files.
  bool published_weights = true;
};

// A validated int8 network (by a code with @float32: float) with trained-looking weights;
// `Graph::description` is its name. Mutations have the types and weights of their files. Errors as
// for `parse`, for codes whose network is a constant, and for mutations whose base file is not
// found. Milliseconds for most networks, up to half a second for those of megabytes. Safe to
// call from several threads.
[[nodiscard]] Result<Graph> build_network(const NetworkName& name,
                                          const BuildNetworkOptions& options = {});

}  // namespace edgesage
