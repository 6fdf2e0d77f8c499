// Opens a model file of any format that edgesage knows. What a file is follows from its bytes,
// never from its name.
#pragma once

#include <filesystem>

#include "edgesage/result.h"
#include "src/graph/graph.h"

namespace edgesage {

// Reads a model. "-" is standard input. The graph's constants point into the file's mapping, which
// lives as long as a Buffer of the graph does; the file must not be changed meanwhile
// (`Graph::own_buffers` copies them out).
//
// Errors: kBadModel. A file that is no model is named for what it is (a Git LFS pointer, ONNX, an
// archive, a web page, empty, ...) together with the remedy; a damaged one by the place of the
// damage.
[[nodiscard]] Result<Graph> read_model(const std::filesystem::path& path);

}  // namespace edgesage
