#include "src/spaces/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "src/base/text.h"
#include "src/graph/validate.h"
#include "src/spaces/detection.h"
#include "src/spaces/keyword_sound.h"
#include "src/spaces/mobile_classifier.h"
#include "src/spaces/model_library.h"
#include "src/spaces/published.h"
#include "src/spaces/reference_networks.h"
#include "src/spaces/residual_classifier.h"
#include "src/spaces/segmentation.h"
#include "src/spaces/super_resolution.h"
#include "src/spaces/trained_weights.h"
#include "src/spaces/transformer.h"

namespace edgesage {
namespace {

constexpr int kPublishedVersion = 1;
constexpr int kMutationVersion = 1;

using BuildFunction = Result<Graph> (*)(uint64_t seed);

struct Space {
  SpaceInfo info;
  BuildFunction build = nullptr;
};

// A network of a published space by seed: its code is drawn, its weights follow from the code.
template <size_t index>
Result<Graph> build_drawn(uint64_t seed) {
  const std::string_view space = published_spaces()[index].name;
  Rng rng(seed, std::string(space) + "/1");
  EDGESAGE_ASSIGN_OR_RETURN(PublishedNetwork network,
                            build_published(space, draw_code(space, rng)));
  return std::move(network.graph);
}

template <size_t... index>
void add_published(std::vector<Space>& spaces, std::index_sequence<index...>) {
  (spaces.push_back({{.name = published_spaces()[index].name,
                      .version = kPublishedVersion,
                      .description = published_spaces()[index].description,
                      .parameters = {}},
                     build_drawn<index>}),
   ...);
}

std::vector<const Parameter*> with_weights(std::span<const Parameter* const> structure) {
  std::vector<const Parameter*> all(structure.begin(), structure.end());
  const auto weights = TrainedWeights::parameters();
  all.insert(all.end(), weights.begin(), weights.end());
  return all;
}

// Samplers that were replaced: their networks are still built by name.
const std::vector<Space>& older_spaces() {
  static const std::vector<Space> kOlder{
      {{.name = "detection",
        .version = 1,
        .description = "as version 2, with operators that nobody reads",
        .parameters = with_weights(detection_parameters())},
       build_detection_1},
  };
  return kOlder;
}

// The newest versions.
const std::vector<Space>& spaces() {
  static const std::vector<Space> kSpaces = [] {
    std::vector<Space> all{
        {{.name = "mobile-classifier",
          .version = 1,
          .description = "image classifiers: separable convolutions, inverted bottlenecks, small "
                         "ResNets and plain convolutions, 0.2 M to 2 G MACs",
          .parameters = with_weights(mobile_classifier_parameters())},
         build_mobile_classifier},
        {{.name = "keyword-sound",
          .version = 1,
          .description = "keyword spotting and sound: DS-CNNs, 1-D convolution stacks, dense "
                         "autoencoders, 5 k to 50 M MACs",
          .parameters = with_weights(keyword_sound_parameters())},
         build_keyword_sound},
        {{.name = "residual-classifier",
          .version = 1,
          .description = "image classifiers: ResNets, grouped and dense blocks, Inception, VGG, "
                         "50 M to 3 G MACs",
          .parameters = with_weights(residual_classifier_parameters())},
         build_residual_classifier},
        {{.name = "super-resolution",
          .version = 1,
          .description = "networks that enlarge images two to four times: ESPCN, FSRCNN, EDSR, RDN "
                         "and separable blocks, 5 M to 4 G MACs",
          .parameters = with_weights(super_resolution_parameters())},
         build_super_resolution},
        {{.name = "segmentation",
          .version = 1,
          .description = "networks that classify every pixel: U-Nets, DeepLabs and dilated stacks, "
                         "10 M to 3 G MACs",
          .parameters = with_weights(segmentation_parameters())},
         build_segmentation},
        {{.name = "detection",
          .version = 2,
          .description = "networks that find objects: SSDs, feature pyramids, several outputs, "
                         "10 M to 2 G MACs",
          .parameters = with_weights(detection_parameters())},
         build_detection},
        {{.name = "transformer",
          .version = 1,
          .description = "small transformers for images, sound, words and sensors, 1 M to 500 M "
                         "MACs",
          .parameters = with_weights(transformer_parameters())},
         build_transformer},
    };
    add_published(all, std::make_index_sequence<kPublishedCount>());
    return all;
  }();
  return kSpaces;
}

tl::unexpected<Error> bad_name(std::string_view text, std::string message) {
  return make_error(ErrorCode::kInvalidArgument, std::string(text), std::move(message));
}

tl::unexpected<Error> unknown_space(std::string_view name, std::string_view where) {
  std::vector<std::string> names;
  for (const Space& space : spaces()) names.emplace_back(space.info.name);
  const std::string_view near = closest(name, names);
  return bad_name(where, fmt::format("unknown space \"{}\"{}; known are {}", name,
                                     near.empty() ? "" : fmt::format(", did you mean {}?", near),
                                     join(names, ", ")));
}

Result<const Space*> find_space(std::string_view name, int version, std::string_view where) {
  std::vector<std::string> versions;
  for (const std::vector<Space>* known : {&older_spaces(), &spaces()})
    for (const Space& space : *known) {
      if (space.info.name != name) continue;
      if (space.info.version == version) return &space;
      versions.push_back(std::to_string(space.info.version));
    }
  if (!versions.empty())
    return bad_name(where, fmt::format("no version {} of space {}; this build knows version {}",
                                       version, name, join(versions, " and ")));
  return unknown_space(name, where);
}

Result<Graph> build_mutation(const NetworkName& name, const BuildNetworkOptions& options) {
  EDGESAGE_ASSIGN_OR_RETURN(const MutationCode code, MutationCode::parse(name.code));
  const ModelLibrary* models = options.models;
  if (models == nullptr) {
    const Result<ModelLibrary>& found = default_model_library();
    if (!found) return tl::unexpected<Error>(found.error());
    models = &*found;
  }
  EDGESAGE_ASSIGN_OR_RETURN(Graph graph, models->build(code));
  graph.description = name.to_string();
  return graph;
}

Result<Graph> build_coded(const NetworkName& name, const BuildNetworkOptions& options) {
  EDGESAGE_ASSIGN_OR_RETURN(
      PublishedNetwork network,
      build_published(name.space, name.code, {.weights = options.published_weights}));
  const std::string text = name.to_string();
  if (network.constant)
    return bad_name(text,
                    "no path of the cell leads from its input to its output: the network is "
                    "a constant and has nothing to run");
  network.graph.description = text;
  return std::move(network.graph);
}

template <class T>
bool parse_number(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::span<const SpaceInfo> all_spaces() {
  static const std::vector<SpaceInfo> kInfos = [] {
    std::vector<SpaceInfo> infos;
    for (const Space& space : spaces()) infos.push_back(space.info);
    return infos;
  }();
  return kInfos;
}

Result<NetworkName> newest_network(std::string_view space, uint64_t seed) {
  for (const Space& known : spaces())
    if (known.info.name == space) return NetworkName{std::string(space), known.info.version, seed};
  return unknown_space(space, space);
}

std::string NetworkName::to_string() const {
  if (space == kMutationSpace) return fmt::format("{}/{}/{}", space, version, code);
  if (!code.empty()) return fmt::format("{}/{}", space, code);
  return fmt::format("{}/{}/{}", space, version, seed);
}

Result<NetworkName> NetworkName::parse(std::string_view text) {
  const std::vector<std::string> parts = split(text, '/');
  if (parts.size() == 2 && is_published(parts[0])) {
    EDGESAGE_ASSIGN_OR_RETURN(std::string code, canonical_code(parts[0], parts[1]));
    return NetworkName{parts[0], kPublishedVersion, 0, std::move(code)};
  }
  if (parts.size() == 2 && parts[0] == kReferenceSpace) {
    EDGESAGE_ASSIGN_OR_RETURN(std::string code, canonical_reference(parts[1]));
    return NetworkName{parts[0], kPublishedVersion, 0, std::move(code)};
  }
  if (parts.size() != 3)
    return bad_name(text, "a network is named space/version/seed, as in mobile-classifier/1/4711");
  NetworkName name{.space = parts[0]};
  if (!parse_number(parts[1], name.version))
    return bad_name(text, fmt::format("the version \"{}\" is not a number", parts[1]));
  if (name.space == kMutationSpace) {
    if (name.version != kMutationVersion)
      return bad_name(text, fmt::format("no version {} of mutations; this build knows version {}",
                                        name.version, kMutationVersion));
    EDGESAGE_ASSIGN_OR_RETURN(const MutationCode code, MutationCode::parse(parts[2]));
    name.code = code.to_string();
    return name;
  }
  if (!parse_number(parts[2], name.seed))
    return bad_name(text,
                    fmt::format("the seed \"{}\" is not a number from 0 to 2^64-1", parts[2]));
  EDGESAGE_RETURN_IF_ERROR(find_space(name.space, name.version, text));
  return name;
}

Result<Graph> build_network(const NetworkName& name, const BuildNetworkOptions& options) {
  if (name.space == kReferenceSpace) return build_reference(name.code, options.published_weights);
  const std::string text = name.to_string();
  if (name.space == kMutationSpace) return build_mutation(name, options);
  EDGESAGE_ASSIGN_OR_RETURN(const Space* space, find_space(name.space, name.version, text));
  if (!name.code.empty()) return build_coded(name, options);
  Result<Graph> graph = space->build(name.seed);
  Status valid = graph ? validate(*graph) : Status(tl::unexpected<Error>(graph.error()));
  if (!valid)
    return make_error(ErrorCode::kInternal, text,
                      "the space made an invalid network: " + valid.error().to_string());
  graph->description = text;
  return graph;
}

}  // namespace edgesage
