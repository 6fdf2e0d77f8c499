// Writes a Graph as a TensorFlow Lite / LiteRT model (.tflite, schema version 3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "edgesage/result.h"
#include "src/graph/graph.h"

namespace edgesage {

struct TfliteWriteOptions {
  // Names of tensors and subgraphs. Signatures and metadata always keep theirs.
  bool keep_names = true;
  // Seed of a random order of the buffers (buffer 0 stays first, as the format wants); unset: in
  // the order of the graph. Nothing a model computes depends on it.
  std::optional<uint64_t> shuffle_buffers;
};

// The bytes of a .tflite that holds the graph and its constants, aligned to 16 bytes. The graph may
// come from a file or be built by hand: attributes use the schema's names (options_codec.h), absent
// ones mean the schema's default. Operator codes are made from kind, custom code and version.
// Buffers that neither a tensor nor metadata refers to are left out. The same graph and options
// give the same bytes.
//
// Errors: kUnsupported for operators whose options the reader could not hold, constants without
// their bytes, and results of 2 GB or more; kInvalidArgument for attributes or indexes that do not
// fit (the place is named).
[[nodiscard]] Result<std::vector<std::byte>> write_tflite(const Graph& graph,
                                                          const TfliteWriteOptions& options = {});

}  // namespace edgesage
