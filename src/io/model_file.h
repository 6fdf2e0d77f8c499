// Opens a model file of any format that edgesage knows. What a file is follows from its bytes,
// never from its name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "edgesage/result.h"
#include "src/graph/graph.h"

namespace edgesage {

struct ReadOptions {
  // Shapes of inputs by name, in the file's own order of dimensions (.tflite: batch, height, width,
  // channels; ncnn: channels, height, width; .onnx: mostly batch, channels, height, width), where
  // the file leaves them open or others are wanted.
  std::map<std::string, std::vector<int64_t>> shapes;
  int64_t batch = 0;       // of every input that has one (set_input_shapes); 0: the file's
  std::string signature;   // which entry of a model with several becomes the main subgraph
  int64_t trip_count = 0;  // of loops whose file does not say it; 0: once, with a warning
  // Numbers for dimensions that an ONNX file gives a name ("batch", "N").
  std::map<std::string, int64_t> dimensions;
};

// Reads a model: .tflite, .onnx, or the text .param of ncnn. "-" is standard input. The graph's
// constants point into the file's mapping, which lives as long as a Buffer of the graph does; the
// file must not be changed meanwhile
// (`Graph::own_buffers` copies them out).
//
// Errors: kInvalidArgument for shapes that the file has no input or no use for, or that it lacks;
// else kBadModel. A file that is no model is named for what it is (a Git LFS pointer, an
// archive, a web page, empty, ...) together with the remedy; a damaged one by the place of the
// damage.
[[nodiscard]] Result<Graph> read_model(const std::filesystem::path& path,
                                       const ReadOptions& options = {});

}  // namespace edgesage
