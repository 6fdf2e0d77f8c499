#include "src/spaces/published.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/hash.h"
#include "src/base/text.h"
#include "src/graph/builder.h"
#include "src/spaces/code_text.h"
#include "src/spaces/fbnet.h"
#include "src/spaces/mnasnet_accel.h"
#include "src/spaces/nas_bench_201.h"
#include "src/spaces/ofa_mobilenet_v3.h"
#include "src/spaces/trained_weights.h"

namespace edgesage {
namespace {

constexpr int64_t kMostResolution = 4096;

// A code that was understood.
struct Understood {
  std::string code;        // canonical
  int64_t resolution = 0;  // the code's own; 0: it has none
  int64_t multiple = 1;    // of the resolution
  bool constant = false;
  int64_t outputs = 0;  // of a constant network
  std::function<GraphBuilder::Id(GraphBuilder&, int64_t resolution, bool merge_common)> emit;
};

struct Entry {
  PublishedSpace info;
  Result<Understood> (*understand)(std::string_view code) = nullptr;
  std::string (*draw)(Rng& rng) = nullptr;
};

Result<Understood> understand_nas_bench_201(std::string_view code) {
  EDGESAGE_ASSIGN_OR_RETURN(const NasBench201Cell cell, NasBench201Cell::parse(code));
  return Understood{.code = cell.code(),
                    .multiple = 4,
                    .constant = cell.constant(),
                    .outputs = 10,
                    .emit = [cell](GraphBuilder& net, int64_t resolution, bool merge_common) {
                      return emit_nas_bench_201(
                          net, cell, {.resolution = resolution, .merge_common = merge_common});
                    }};
}

Result<Understood> understand_fbnet(std::string_view code) {
  EDGESAGE_ASSIGN_OR_RETURN(const FbNetCode parsed, FbNetCode::parse(code));
  return Understood{.code = parsed.code(),
                    .emit = [parsed](GraphBuilder& net, int64_t resolution, bool) {
                      return emit_fbnet(net, parsed, resolution);
                    }};
}

Result<Understood> understand_ofa(std::string_view code) {
  EDGESAGE_ASSIGN_OR_RETURN(const OfaCode parsed, OfaCode::parse(code));
  return Understood{.code = parsed.code(),
                    .resolution = parsed.resolution,
                    .emit = [parsed](GraphBuilder& net, int64_t resolution, bool) {
                      return emit_ofa(net, parsed, resolution);
                    }};
}

Result<Understood> understand_mnasnet_accel(std::string_view code) {
  EDGESAGE_ASSIGN_OR_RETURN(const MnasnetAccelCode parsed, MnasnetAccelCode::parse(code));
  return Understood{.code = parsed.code(),
                    .emit = [parsed](GraphBuilder& net, int64_t resolution, bool) {
                      return emit_mnasnet_accel(net, parsed, resolution);
                    }};
}

std::string draw_varying_nas_bench_201(Rng& rng) {
  NasBench201Cell cell = draw_nas_bench_201(rng);
  while (cell.constant()) cell = draw_nas_bench_201(rng);
  return cell.code();
}

const std::array<Entry, kPublishedCount>& entries() {
  static const std::array<Entry, kPublishedCount> kEntries{{
      {{.name = "nas-bench-201",
        .description = "NAS-Bench-201: one of 15,625 cells of four nodes, fifteen times",
        .code_form = "|op~0|+|op~0|op~1|+|op~0|op~1|op~2|",
        .resolution = 32},
       understand_nas_bench_201,
       draw_varying_nas_bench_201},
      {{.name = "fbnet",
        .description = "FBNet for CIFAR-100: 22 layers, each one of nine blocks",
        .code_form = "22 numbers from 0 to 8 with - between them",
        .resolution = 32},
       understand_fbnet,
       [](Rng& rng) { return draw_fbnet(rng).code(); }},
      {{.name = "ofa-mobilenet-v3",
        .description = "Once-for-All's MobileNetV3: kernels, expansions, depths and resolution",
        .code_form = "ks<20 kernels>_e<20 expansions>_d<5 depths>_r<side>",
        .resolution = 224},
       understand_ofa,
       [](Rng& rng) { return draw_ofa(rng).code(); }},
      {{.name = "mnasnet-accel",
        .description = "Accel-NASBench: seven stages of inverted bottlenecks",
        .code_form = "seven times expansion-kernel-layers-squeeze with _ between them",
        .resolution = 224},
       understand_mnasnet_accel,
       [](Rng& rng) { return draw_mnasnet_accel(rng).code(); }},
  }};
  return kEntries;
}

Result<const Entry*> find_entry(std::string_view space) {
  std::vector<std::string> names;
  for (const Entry& entry : entries()) {
    if (entry.info.name == space) return &entry;
    names.emplace_back(entry.info.name);
  }
  return make_error(ErrorCode::kInvalidArgument, std::string(space),
                    fmt::format("not a published space; there are {}", join(names, ", ")));
}

// A code apart from what follows its '@'.
struct SplitCode {
  std::string_view code;
  int64_t resolution = 0;  // 0: not said
  std::optional<DataType> type;
};

Result<SplitCode> split_code(std::string_view text) {
  SplitCode parts{.code = text.substr(0, text.find('@'))};
  for (size_t at = parts.code.size(); at < text.size();) {
    const size_t end = std::min(text.find('@', at + 1), text.size());
    const std::string_view part = text.substr(at + 1, end - at - 1);
    at = end;
    int64_t side = 0;
    const auto [rest, error] = std::from_chars(part.data(), part.data() + part.size(), side);
    if (part == "float32" || part == "int8")
      parts.type = part == "int8" ? DataType::kInt8 : DataType::kFloat32;
    else if (error == std::errc() && rest == part.data() + part.size() && side > 0)
      parts.resolution = side;
    else
      return bad_code(text, fmt::format("\"@{}\" is no resolution (as in @88), int8 or float32",
                                        part.substr(0, 40)));
  }
  return parts;
}

Result<int64_t> resolution_of(const Entry& entry, const Understood& code, int64_t said,
                              const PublishedOptions& options) {
  int64_t resolution = said > 0 ? said : options.resolution;
  if (resolution == 0) resolution = code.resolution > 0 ? code.resolution : entry.info.resolution;
  if (resolution > 0 && resolution <= kMostResolution && resolution % code.multiple == 0)
    return resolution;
  return make_error(ErrorCode::kInvalidArgument, std::string(entry.info.name),
                    fmt::format("a resolution of {}; multiples of {} up to {} are allowed",
                                resolution, code.multiple, kMostResolution));
}

// An input that nothing reads and an output of zeros.
Graph constant_graph(const PublishedOptions& options, std::string_view space, int64_t resolution,
                     int64_t outputs) {
  Graph graph;
  graph.format = space;
  graph.subgraphs.resize(1);
  graph.main().name = "main";
  Tensor input{.name = "image", .type = options.type, .shape = {1, resolution, resolution, 3}};
  Tensor output{.name = "constant", .type = options.type, .shape = {1, outputs}, .buffer = 1};
  if (options.type == DataType::kInt8) {
    input.quantization.scale = output.quantization.scale = {1.0F / 128};
    input.quantization.zero_point = output.quantization.zero_point = {0};
  }
  const std::vector<std::byte> zeros(static_cast<size_t>(output.byte_size().value_or(0)));
  graph.buffers = {Buffer{}, make_buffer(zeros)};
  graph.main().tensors = {std::move(input), std::move(output)};
  graph.main().inputs = {0};
  graph.main().outputs = {1};
  return graph;
}

uint64_t seed_of(std::string_view space, std::string_view code) {
  Hasher hasher;
  hasher.add(space);
  hasher.add(code);
  return hasher.low64();
}

GraphBuilder::Options builder_options(const PublishedOptions& options, std::string_view space,
                                      uint64_t seed) {
  GraphBuilder::Options built{.name = std::string(space),
                              .type = options.type,
                              .seed = seed,
                              .shapes_only = !options.weights};
  if (options.weights) {
    const auto weights = std::make_shared<TrainedWeights>(seed);
    built.fill = [weights](const FilterLayout& layout, std::span<int8_t> stored) {
      weights->fill(layout, stored);
    };
  }
  return built;
}

}  // namespace

std::span<const PublishedSpace, kPublishedCount> published_spaces() {
  static const std::array<PublishedSpace, kPublishedCount> kInfos = [] {
    std::array<PublishedSpace, kPublishedCount> infos;
    for (size_t i = 0; i < infos.size(); ++i) infos[i] = entries()[i].info;
    return infos;
  }();
  return kInfos;
}

bool is_published(std::string_view space) { return find_entry(space).has_value(); }

Result<PublishedNetwork> build_published(std::string_view space, std::string_view code,
                                         const PublishedOptions& options) {
  EDGESAGE_ASSIGN_OR_RETURN(const Entry* entry, find_entry(space));
  EDGESAGE_ASSIGN_OR_RETURN(const SplitCode parts, split_code(code));
  PublishedOptions chosen = options;
  chosen.type = parts.type.value_or(options.type);
  if (chosen.type != DataType::kInt8 && chosen.type != DataType::kFloat32)
    return make_error(ErrorCode::kInvalidArgument, std::string(space),
                      "published networks are built as int8 or float32");
  EDGESAGE_ASSIGN_OR_RETURN(const Understood understood, entry->understand(parts.code));
  EDGESAGE_ASSIGN_OR_RETURN(const int64_t resolution,
                            resolution_of(*entry, understood, parts.resolution, options));
  if (understood.constant)
    return PublishedNetwork{constant_graph(chosen, space, resolution, understood.outputs), true};
  GraphBuilder net(builder_options(chosen, space, seed_of(space, understood.code)));
  const GraphBuilder::Id output = understood.emit(net, resolution, chosen.merge_common);
  EDGESAGE_ASSIGN_OR_RETURN(Graph graph, net.finish({output}));
  return PublishedNetwork{std::move(graph), false};
}

Result<std::string> canonical_code(std::string_view space, std::string_view code) {
  EDGESAGE_ASSIGN_OR_RETURN(const Entry* entry, find_entry(space));
  EDGESAGE_ASSIGN_OR_RETURN(const SplitCode parts, split_code(code));
  EDGESAGE_ASSIGN_OR_RETURN(const Understood understood, entry->understand(parts.code));
  EDGESAGE_ASSIGN_OR_RETURN(const int64_t resolution,
                            resolution_of(*entry, understood, parts.resolution, {}));
  const int64_t usual = understood.resolution > 0 ? understood.resolution : entry->info.resolution;
  std::string canonical = understood.code;
  if (resolution != usual) canonical += fmt::format("@{}", resolution);
  if (parts.type == DataType::kFloat32) canonical += "@float32";
  return canonical;
}

std::string draw_code(std::string_view space, Rng& rng) {
  const auto entry = find_entry(space);
  return entry ? (*entry)->draw(rng) : std::string();
}

}  // namespace edgesage
