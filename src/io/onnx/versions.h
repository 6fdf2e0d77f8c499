// Versions of the format and of operator sets.
#pragma once

#include "src/io/onnx/parsed_file.h"

namespace edgesage::onnx {

// The newest versions that are known; later ones are read as these are, with a warning.
inline constexpr int64_t kNewestIrVersion = 14;
inline constexpr int64_t kNewestOpset = 28;

// Sets Node::since of all nodes from the imports of the model, or of the function they stand in
// (what a function does not import, it has from the model). A model without an import of ONNX's own
// set is taken to use the newest one of its IR version, 1 before IR version 3; other sets count as
// version 1. Notes versions beyond the known, and missing ones.
void set_versions(ParsedFile& file, Oddities& oddities);

}  // namespace edgesage::onnx
