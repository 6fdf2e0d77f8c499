// Published search spaces: networks that others measured, from the codes they are published by.
//
//   auto network = build_published("nas-bench-201", "|nor_conv_3x3~0|+|...", {.weights = false});
//   if (network && !network->constant) use(network->graph);
//
// The spaces, and what their codes mean, are in docs/spaces.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "edgesage/result.h"
#include "src/base/rng.h"
#include "src/graph/graph.h"

namespace edgesage {

// What a code says after an '@' outranks both: "...|@88", "...|@float32", "...|@88@float32".
struct PublishedOptions {
  DataType type = DataType::kInt8;  // or kFloat32
  // Height and width of the image; 0: the code's own, or the one the space was measured with.
  int64_t resolution = 0;
  // False: filters and biases have no bytes (GraphBuilder::Options::shapes_only); the graph hash is
  // the same. A tenth of a millisecond to one, where drawing weights takes tens.
  bool weights = true;
  bool merge_common = true;  // of NAS-Bench-201: see nas_bench_201.h
};

struct PublishedNetwork {
  Graph graph;
  // The output does not depend on the input (cells of NAS-Bench-201 without a path): the graph has
  // an input, a constant output and no operator. Leave it out of relative errors, and count it.
  bool constant = false;
};

struct PublishedSpace {
  std::string_view name;         // "nas-bench-201"
  std::string_view description;  // one line
  std::string_view code_form;    // what a code looks like, for messages
  int64_t resolution = 0;        // where neither code nor options say
};

inline constexpr size_t kPublishedCount = 4;
[[nodiscard]] std::span<const PublishedSpace, kPublishedCount> published_spaces();
[[nodiscard]] bool is_published(std::string_view space);

// kInvalidArgument: an unknown space; a code that is none of the space, with what is allowed; a
// resolution that the network cannot take (of NAS-Bench-201: multiples of 4). The weights follow
// from space and code. Thread-safe.
[[nodiscard]] Result<PublishedNetwork> build_published(std::string_view space,
                                                       std::string_view code,
                                                       const PublishedOptions& options = {});

// The one spelling of a code with its '@' parts: what names hold. Errors as above.
[[nodiscard]] Result<std::string> canonical_code(std::string_view space, std::string_view code);

// A code, all that are no constants being equally likely. `space` is published.
[[nodiscard]] std::string draw_code(std::string_view space, Rng& rng);

}  // namespace edgesage
