// What a model computes: operators, shapes, multiply-accumulates, parameters, memory. Needs no
// device and no predictor.
//
//   Result<Inspection> model = inspect_file("model.tflite");
//   if (model) use(model->macs, model->memory.activations_bytes);
//
// Plain data. Units are in the names.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "edgesage/memory.h"
#include "edgesage/result.h"

namespace edgesage {

struct InspectedTensor {
  int32_t index = -1;  // in its subgraph; -1: an optional operand that is left out
  std::string name;
  std::string type;                      // "int8", "float32", ...
  bool has_rank = true;                  // false: the file says nothing about the shape
  std::vector<int64_t> shape;            // empty with has_rank: a scalar
  std::vector<int64_t> shape_signature;  // -1 where a dimension is dynamic; empty: as `shape`
  bool is_constant = false;
  std::optional<int64_t> bytes;  // empty: no fixed size
};

struct InspectedOperator {
  int32_t subgraph = 0;
  int32_t index = -1;       // in its subgraph
  std::string kind;         // "CONV_2D"; "CUSTOM", "UNKNOWN"
  std::string custom_code;  // for CUSTOM
  int32_t code = 0;         // of the format's table
  int32_t version = 1;
  std::string name;  // of its first output where it has none of its own
  std::vector<InspectedTensor> inputs;
  std::vector<InspectedTensor> outputs;
  std::optional<int64_t> macs;        // empty: nothing is known about this kind
  int64_t parameters = 0;             // elements of the constants it computes with
  int64_t weights_bytes = 0;          // their bytes
  std::optional<int64_t> live_bytes;  // activations alive while it runs; main subgraph only
  // With a target: where it runs ("npu", "delegate", "cpu", "folded") and, off the accelerator, the
  // rule that keeps it there.
  std::string placement;
  std::string placement_reason;
};

struct InspectedSubgraph {
  std::string name;
  int64_t operators = 0;
  int64_t tensors = 0;
  int64_t distinct_operators = 0;
  std::vector<InspectedTensor> inputs;
  std::vector<InspectedTensor> outputs;
};

struct InspectedSignature {
  std::string key;
  int32_t subgraph = 0;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

struct OperatorCount {
  std::string kind;
  int32_t code = 0;
  std::string custom_code;
  int64_t count = 0;
};

struct TypeCount {
  int64_t activations = 0;  // tensors that are computed
  int64_t constants = 0;
  int64_t constant_bytes = 0;
};

// Tensors by the kind of their quantisation.
struct QuantizationCount {
  int64_t per_tensor = 0;
  int64_t per_channel = 0;
  int64_t blockwise = 0;
  int64_t custom = 0;
  int64_t none = 0;
};

// Activations of the main subgraph by lifetime, without what a planner's alignment adds.
struct InspectedMemory {
  std::optional<int64_t> activations_bytes;  // of tensors with a known size; empty: there are none
  int32_t peak_operator = -1;
  std::vector<InspectedTensor> peak_tensors;  // alive at the peak, largest first
  std::vector<InspectedTensor> unknown;       // without a known size; not counted
  ArenaPlan litert_arena;                     // as LiteRT's own planner places them
  ArenaPlan tflm_arena;                       // as TensorFlow Lite Micro does
  DelegatedMemory litert_xnnpack;             // the same with XNNPACK; empty where there is no plan
};

// A row is what the target executes: an operator, a part of one, or several fused.
struct InspectedRow {
  int32_t op = -1;             // operator that is charged
  std::vector<int32_t> fused;  // operators done in passing
  std::string kind;            // "CONV_2D", "LUT", ...
  std::string placement;
  int64_t repeat = 1;  // runs in one inference: of a loop's body, its iterations
  int64_t macs = 0;    // of one run, as are the bytes
  int64_t ifm_bytes = 0, ofm_bytes = 0, weights_bytes = 0;
};

struct InspectedTarget {
  std::string name;
  int32_t partitions = 0;                     // of a delegate
  std::map<std::string, int64_t> placements;  // operators by placement
  std::vector<InspectedRow> rows;
  std::optional<int64_t> activations_bytes;  // peak over rows: tensors inside fusions do not exist
  std::vector<std::string> warnings;
};

struct Inspection {
  std::string model;
  std::string format;
  std::string description;
  std::optional<int64_t> file_bytes;
  std::string dtype;  // of most weights, or of most activations where there are none
  std::vector<InspectedSubgraph> subgraphs;
  std::vector<InspectedOperator> operators;  // of all subgraphs, the main one first
  std::vector<OperatorCount> operator_counts;
  std::map<std::string, TypeCount> types;
  QuantizationCount quantization;
  std::vector<InspectedSignature> signatures;
  std::map<std::string, int64_t> metadata;  // name -> bytes

  int64_t macs = 0;           // known operators only; loops by their iterations
  int64_t parameters = 0;     // a buffer used twice counts once
  int64_t weights_bytes = 0;  // a buffer used twice counts once
  InspectedMemory memory;
  std::optional<InspectedTarget> target;

  std::vector<std::string> warnings;
  std::vector<std::string> unsupported;  // what --strict refuses; also in `warnings`
};

// Reads a model and describes it; with `target` ("ethos-u55-256", "litert-xnnpack") also how that
// target runs it. "-" is standard input. `abi`: 32 or 64, of the pointers of TensorFlow Lite Micro;
// `kernels`: its own ("reference"), or on 32 bits "cmsis-nn", "cmsis-nn-mve", "cmsis-nn-plain".
// Errors: kBadModel; kInvalidArgument for an unknown target, abi or kernels.
[[nodiscard]] Result<Inspection> inspect_file(const std::string& path,
                                              const std::string& target = {}, int32_t abi = 32,
                                              const std::string& kernels = "reference");

}  // namespace edgesage
