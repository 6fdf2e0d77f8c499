// Rows: what a device executes.
//
// A lowering turns the operators of a Graph's main subgraph into rows for one target: it places
// each operator (with the rule that decided), fuses, and decomposes (a softmax on Ethos-U is some
// thirty rows). Costs, simulated devices, features and attribution speak of rows; results are
// given per operator: every row names the operator that is charged for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/graph/graph.h"
#include "src/lower/target.h"

namespace edgesage {

// What a row computes. Several operator kinds share a row kind; the order is part of predictor
// files, so new kinds go to the end.
enum class RowKind : uint8_t {
  kOther = 0,  // an operator without a rule of its own
  kConv2D,
  kDepthwiseConv2D,
  kTransposeConv,
  kFullyConnected,
  kMatMul,  // both operands are activations
  kAveragePool,
  kMaxPool,
  kReduce,  // MEAN, SUM, REDUCE_MAX, ...
  kAdd,
  kSub,
  kMul,
  kMinMax,
  kElementwise,  // other unary or binary element-wise work
  kActivation,   // stand-alone activation computed per element
  kLut,          // activation by table look-up
  kSoftmax,      // a whole softmax as one kernel (CPU)
  kReshape,      // moves no data, or copies it as it is
  kCopy,         // concatenation, slices, packing, padding done as copies
  kPad,
  kResize,
  kTranspose,
  kDepthToSpace,
  kQuantize,  // QUANTIZE, DEQUANTIZE, requantisation
  kGather,
  kArgMax,
  kRecurrent,  // LSTM, RNN, SVDF
  kControl,    // IF, WHILE, CALL_ONCE
  kShift,      // the integer shifts and counts of decomposed softmaxes
  kCount,      // number of kinds; not a kind
};

[[nodiscard]] std::string_view row_kind_name(RowKind kind);

enum class Placement : uint8_t {
  kNpu,       // on the accelerator
  kDelegate,  // by the delegate (XNNPACK)
  kCpu,       // falls back to the runtime's built-in kernels
  kFolded,    // nothing runs: fused into another row, or free
};

[[nodiscard]] std::string_view placement_name(Placement placement);

struct Shape4 {
  int64_t n = 1, h = 1, w = 1, c = 1;
  [[nodiscard]] int64_t elements() const;  // saturates at INT64_MAX
  bool operator==(const Shape4&) const = default;
};

struct Row {
  RowKind kind = RowKind::kOther;
  int32_t op = -1;             // operator of the main subgraph that is charged
  std::vector<int32_t> fused;  // further operators done here without a row of their own
  OpKind op_kind = OpKind::kUnknown;
  Placement placement = Placement::kCpu;
  int32_t partition = -1;  // which delegated partition; -1 outside

  Shape4 ifm, ifm2,
      ofm;  // ifm2: second activation or constant operand; elements 0 if there is none
  bool has_ifm2 = false;
  bool ifm2_constant = false;
  int32_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int32_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  int64_t groups = 1;
  DataType ifm_type = DataType::kInt8, ofm_type = DataType::kInt8, weights_type = DataType::kInt8;
  OpKind activation = OpKind::kUnknown;  // fused activation function; kUnknown: none

  int32_t weights = kNoTensor;  // constant tensors of the main subgraph
  int32_t bias = kNoTensor;
  int64_t repeat = 1;             // runs in one inference: of a loop's body, its iterations
  bool invented_weights = false;  // constants that the compiler makes up (MEAN as a depthwise conv)
  bool spreads = false;           // adds zeros of its own to one value for all channels
  bool fills_bricks = false;      // a step whose few channels are stored as 16 (Ethos-U)

  std::vector<int32_t> inputs;       // rows whose results this one reads, ascending
  std::vector<int32_t> ifm_tensors;  // activation tensors of the main subgraph that it reads
  std::vector<int32_t> ofm_tensors;  // and writes; empty inside a decomposition
};

// Where an operator runs, and the rule that says so.
struct OperatorPlacement {
  Placement placement = Placement::kCpu;
  std::string reason;  // empty where it runs on the accelerator or delegate
};

struct Lowering {
  Target target;
  std::vector<Row> rows;                     // in order of execution
  std::vector<OperatorPlacement> operators;  // one an operator of the main subgraph
  int32_t partitions = 0;                    // delegated partitions
  // For each tensor of the main subgraph the tensor whose memory holds it: itself, or, behind free
  // reshapes, an earlier one. Rows name tensors after this is applied.
  std::vector<int32_t> storage;
  std::vector<std::string> warnings;
};

// Never fails: an operator without a rule becomes a row of kind kOther with a placement of kCpu.
// Subgraphs of control flow are not expanded (control_flow.h does that first); their operator is a
// row of kind kControl and is named in `warnings`. Cost: linear in operators and edges.
[[nodiscard]] Lowering lower(const Graph& graph, const Target& target);

}  // namespace edgesage
