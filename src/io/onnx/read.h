// Reads an ONNX file (a ModelProto in the protobuf wire format) into plain tables.
//
// What is left of the file's oddities is said in Model::warnings; a Model that is returned holds
// these promises, whatever the file was like:
// - Nodes stand in an order in which every value is made before it is read.
// - Every name that a node reads, or a graph gives out, is made by a node, an input or an
//   initialiser of its graph or of a graph around it. "" stands for an input or output left out.
// - A name means one value within a graph and all graphs inside it: a value that is written twice,
//   or hides one of a graph around it, was renamed for its readers. Bodies beside each other (the
//   branches of an If) may use the same names.
// - Calls of functions that the file defines are replaced by the functions' nodes; values inside
//   have names of their own.
// - Inputs of the main graph are what a caller gives: initialisers are not among them.
// - A constant has as many bytes as its type and dimensions say, or `data_missing`, or a type that
//   is not known.
// - The domain "ai.onnx" is spelled "".
//
// Limits, beyond which a file is refused: 4 GiB (protobuf itself ends at 2; external data has no
// limit); 65,536 dimensions of a tensor; 64 levels of sequences, maps and optionals in a type; what
// inlining functions adds (ReadLimits). The number of nodes and operands and the nesting of graphs
// have no limit of their own. Time and memory grow linearly with the file, without its weights, and
// with what functions expand to (sorting a graph whose nodes are out of order: n log n).
//
// Errors: ErrorCode::kBadModel, with the byte offset and the field where the fault has one:
// "net.onnx: byte 123, graph.node[3].attribute[0].t.dims: ...". What is no ONNX model is named for
// what it is. Nothing is kept between calls; concurrent calls are safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "edgesage/result.h"
#include "src/base/file.h"
#include "src/io/onnx/model.h"

namespace edgesage::onnx {

struct ReadLimits {
  // Memory that the nodes of inlined functions may take, so that functions calling each other
  // twice, thirty levels deep, are refused.
  int64_t inlined_bytes = int64_t{256} << 20;
};

struct ReadOptions {
  // The model file, beside which its external data lies. Empty: external data are not looked for
  // and count as missing.
  std::filesystem::path model_path;
  ReadLimits limits;
};

// Reads `bytes`, which `storage` keeps alive (null: the caller does, as long as the Model lives);
// weights are not copied. `name` stands before errors.
//
// External data: the file must lie in the model's folder, or below; other places (absolute, "..",
// through a symbolic link) are refused. A file is mapped once however many tensors it holds, and a
// missing one only warned of: sizes follow from the dimensions.
[[nodiscard]] Result<Model> read_onnx(std::span<const std::byte> bytes,
                                      std::shared_ptr<const void> storage, const std::string& name,
                                      const ReadOptions& options = {});

// Reads a mapped file. With `open`, the file still open, what a large one has between its weights
// is read from there and copied (heads.h), which is faster than touching the mapping and takes as
// long however far the weights move it apart. It is needed no longer than the call lasts.
[[nodiscard]] Result<Model> read_onnx(std::shared_ptr<const MappedFile> file,
                                      const std::string& name, const ReadOptions& options = {},
                                      const OpenFile* open = nullptr);

}  // namespace edgesage::onnx
