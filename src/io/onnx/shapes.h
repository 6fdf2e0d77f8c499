// Types and shapes of every value of an ONNX model, and the values that shapes are computed from.
//
// Inference goes through the nodes once, in their order, into the bodies of If, Loop and Scan with
// the types of the names they capture (a Loop body a second and third time where what it carries
// changes its shape). No recursion; time and memory are linear in the file: a value of more than
// 4,096 elements is not folded, nor anything after a million folded elements in all.
//
// What is inferred outranks value_info and the declared outputs; where inference knows nothing
// (operators of other domains, dimensions that depend on data) they complete it. Where an input's
// fixed dimension is overridden, only rank and element type are believed of value_info behind it:
// its numbers are of another input. A shape that cannot be (a Concat axis beyond the rank) is a
// warning and an unknown shape, never a guess.
//
// Thread-safe: no state outside of the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "edgesage/result.h"
#include "src/io/onnx/model.h"

namespace edgesage::onnx {

struct ShapeOptions {
  // Whole shapes by input name: `--shape NAME:1x3x224x224`. They may fill open dimensions and
  // replace fixed ones; a dimension's symbol gets the number everywhere.
  std::map<std::string, std::vector<int64_t>> inputs;
  // Numbers by the symbol of a dimension: `-f N:1`.
  std::map<std::string, int64_t> dimensions;
  // What an open dimension 0 of an input becomes. Fixed ones stay: use `inputs` for them.
  std::optional<int64_t> batch;
  // Without `batch`: an open dimension 0 becomes 1, with a warning; false leaves it open.
  bool open_batch_is_one = true;
};

struct InferredValue {
  std::string_view name;
  ValueType type;
  // Of an initialiser, a Constant node or a folded value; null where it is not constant (or too
  // large to fold). Lies in the Model or in `Inferred::folded`.
  const Constant* constant = nullptr;
};

// The values that one graph defines: inputs, initialisers, outputs of its nodes.
struct InferredGraph {
  int32_t parent = -1;
  std::vector<InferredValue> values;
  std::unordered_map<std::string_view, int32_t> index;  // by name; of a doubled name the last
};

// A dimension of an input of the main graph that nothing gives a number.
struct UnknownDimension {
  std::string_view input;
  int32_t axis = -1;        // -1: the input has no shape at all
  std::string_view symbol;  // empty: it has no name ("?", "-1" and "None" are none)
};

struct Inferred {
  std::vector<InferredGraph> graphs;  // as Model::graphs
  std::vector<UnknownDimension> unknown_dimensions;
  std::vector<std::string> warnings;  // one line each
  std::deque<Constant> folded;

  // The value that `name` means inside `graph`, which may be one of a graph around it; null if
  // there is none. Cost: the depth of nesting.
  [[nodiscard]] const InferredValue* find(int32_t graph, std::string_view name) const;
};

// The result refers to `model`, which must outlive it (and may be moved). kInvalidArgument: an
// input or symbol that the model does not have (the message names those it has), another rank, a
// negative number, two numbers for one symbol. Never fails on what the file says.
[[nodiscard]] Result<Inferred> infer_types(const Model& model, const ShapeOptions& options);

}  // namespace edgesage::onnx
