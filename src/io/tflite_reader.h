// Reads TensorFlow Lite / LiteRT models (.tflite, schema version 3).
#pragma once

#include <memory>
#include <string_view>

#include "edgesage/result.h"
#include "src/base/file.h"
#include "src/graph/graph.h"

namespace edgesage {

// Every offset is verified before anything is read, and every index (tensor, buffer, operator code,
// subgraph) is checked, so users of the graph need not. `name` stands in errors for the file.
//
// What becomes what:
// - Graph::buffers has the file's buffers in the file's order, mapped and not copied; each holds a
//   share of `file`. Constants outside the FlatBuffer (large models) are found by their offset.
// - An operator's code is the larger of the file's two code fields.
// - A tensor is a constant if its buffer has bytes. One of no elements is a constant if it names a
//   buffer other than 0, no operator makes it and it is no graph input. Tensors whose bytes lie in
//   another file (external buffers) are constants with an empty buffer, and a warning.
// - Options that equal the schema's default are left out; see options_codec.h.
// - Vectors that are absent are empty. A model without subgraphs gives a Graph without subgraphs.
//
// Errors: kBadModel with the place. Oddities that do not prevent reading go to Graph::warnings.
// Time is linear in the tables of the file, not in the bytes of its constants.
[[nodiscard]] Result<Graph> read_tflite(std::shared_ptr<const MappedFile> file,
                                        std::string_view name);

}  // namespace edgesage
