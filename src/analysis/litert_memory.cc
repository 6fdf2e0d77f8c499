#include "src/analysis/litert_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>

#include "src/graph/op_registry.h"

namespace edgesage {
namespace {

// Inputs as a set of positions: bit i is input i.
constexpr uint32_t inputs(std::initializer_list<int> positions) {
  uint32_t set = 0;
  for (const int position : positions) set |= 1U << position;
  return set;
}

struct KindRule {
  OpKind kind;
  // The output is sized when the operator runs, unless all of these are constants.
  uint32_t sizes_output = 0;
  // The output is computed before the first inference if all of these are constants; 0: never.
  uint32_t computed_early = 0;
};

constexpr std::array kRules = {
    KindRule{OpKind::kArgMax, inputs({1})},
    KindRule{OpKind::kArgMin, inputs({1})},
    KindRule{OpKind::kBatchToSpaceNd, inputs({1, 2})},
    KindRule{OpKind::kBroadcastArgs, 0, inputs({0, 1})},
    KindRule{OpKind::kBroadcastTo, inputs({1})},
    KindRule{OpKind::kConv3DTranspose, inputs({0})},
    KindRule{OpKind::kDilate, inputs({1})},
    KindRule{OpKind::kExpandDims, inputs({1})},
    KindRule{OpKind::kFill, inputs({0})},
    KindRule{OpKind::kGather, 0, inputs({0, 1})},
    KindRule{OpKind::kMean, inputs({1})},
    KindRule{OpKind::kMirrorPad, inputs({1})},
    KindRule{OpKind::kMul, 0, inputs({0, 1})},
    KindRule{OpKind::kMultinomial, inputs({0, 1})},
    KindRule{OpKind::kOneHot, inputs({1})},
    KindRule{OpKind::kPad, inputs({1})},
    KindRule{OpKind::kPadv2, inputs({1})},
    KindRule{OpKind::kRandomStandardNormal, inputs({0})},
    KindRule{OpKind::kRandomUniform, inputs({0})},
    KindRule{OpKind::kRange, inputs({0, 1, 2}), inputs({0, 1, 2})},
    KindRule{OpKind::kReduceAll, inputs({1})},
    KindRule{OpKind::kReduceAny, inputs({1})},
    KindRule{OpKind::kReduceMax, inputs({1})},
    KindRule{OpKind::kReduceMin, inputs({1})},
    KindRule{OpKind::kReduceProd, inputs({1}), inputs({0, 1})},
    KindRule{OpKind::kReshape, inputs({1}), inputs({0, 1})},
    KindRule{OpKind::kResizeBilinear, inputs({1})},
    KindRule{OpKind::kResizeNearestNeighbor, inputs({1})},
    KindRule{OpKind::kRfft2d, inputs({1})},
    KindRule{OpKind::kScatterNd, inputs({2})},
    KindRule{OpKind::kSegmentSum, inputs({0, 1})},
    KindRule{OpKind::kSlice, inputs({1, 2})},
    KindRule{OpKind::kSpaceToBatchNd, inputs({1, 2})},
    KindRule{OpKind::kSparseToDense, inputs({1})},
    KindRule{OpKind::kSplit, inputs({0})},
    KindRule{OpKind::kSplitV, inputs({1, 2})},
    KindRule{OpKind::kStridedSlice, inputs({1, 2, 3}), inputs({0, 1, 2, 3})},
    KindRule{OpKind::kSum, inputs({1})},
    KindRule{OpKind::kTile, inputs({1}), inputs({0, 1})},
    KindRule{OpKind::kTopkV2, inputs({1})},
    KindRule{OpKind::kTranspose, inputs({1})},
    KindRule{OpKind::kTransposeConv, inputs({0})},
    KindRule{OpKind::kUnsortedSegmentMax, inputs({1, 2})},
    KindRule{OpKind::kUnsortedSegmentMin, inputs({1, 2})},
    KindRule{OpKind::kUnsortedSegmentProd, inputs({1, 2})},
    KindRule{OpKind::kUnsortedSegmentSum, inputs({1, 2})},
    KindRule{OpKind::kWhere, inputs({0})},
};

const KindRule* rule_of(OpKind kind) {
  const auto found = std::ranges::find(kRules, kind, &KindRule::kind);
  return found == kRules.end() ? nullptr : &*found;
}

bool has_open_dimension(const Tensor& tensor) {
  return std::ranges::any_of(tensor.shape_signature, [](int64_t size) { return size < 0; });
}

constexpr int64_t kHandleBytes = 4;  // of a variable: its number

class Walk {
 public:
  explicit Walk(const Graph& graph) : graph_(graph), subgraph_(graph.main()) {}

  LiteRtMemory run() && {
    start();
    for (size_t i = 0; i < subgraph_.operators.size(); ++i) {
      const auto op = static_cast<int32_t>(i);
      place_outputs(op);
      if (!append_kernel_scratch(graph_, op, out_.tensors, out_.scratch))
        ++unknown_[std::string(op_name(subgraph_.operators[i].kind))];
    }
    if (sized_when_run_ > 0)
      out_.not_counted.push_back(
          fmt::format("{} operators size their outputs when they run; the file's shapes are used",
                      sized_when_run_));
    for (const auto& [kind, count] : unknown_)
      out_.not_counted.push_back(
          fmt::format("{} ({} times): what its kernel allocates is not known", kind, count));
    return std::move(out_);
  }

 private:
  void start() {
    out_.tensors.resize(subgraph_.tensors.size());
    for (size_t i = 0; i < subgraph_.tensors.size(); ++i) {
      const Tensor& tensor = subgraph_.tensors[i];
      TensorPlace& place = out_.tensors[i];
      place.bytes = planned_bytes(tensor);
      if (tensor.is_constant())
        place.memory = TensorMemory::kFile;
      else if (tensor.is_variable)
        place.memory = TensorMemory::kPersistent;
    }
    for (const int32_t tensor : subgraph_.inputs)
      if (TensorPlace* place = place_of(tensor)) settle(tensor, *place, TensorMemory::kArena);
  }

  TensorPlace* place_of(int32_t tensor) {
    const bool exists = tensor >= 0 && static_cast<size_t>(tensor) < out_.tensors.size();
    return exists ? &out_.tensors[static_cast<size_t>(tensor)] : nullptr;
  }

  void settle(int32_t tensor, TensorPlace& place, TensorMemory memory) {
    if (place.memory != TensorMemory::kNowhere) return;
    const DataType type = subgraph_.tensors[static_cast<size_t>(tensor)].type;
    if (memory == TensorMemory::kPersistent && type == DataType::kResource) {
      place = {memory, kHandleBytes};
      return;
    }
    const bool sized_later =
        type == DataType::kString || type == DataType::kResource || type == DataType::kVariant;
    place.memory = sized_later ? TensorMemory::kHeap : memory;
    if (bits_per_element(type) == 0)
      out_.not_counted.push_back(
          fmt::format("tensor {}: type {} has no fixed size", tensor, type_name(type)));
  }

  [[nodiscard]] bool constant(const Operator& op, uint32_t set) const {
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (i >= 32 || !((set >> i) & 1U)) continue;
      const int32_t tensor = op.inputs[i];
      if (tensor < 0) continue;
      const TensorMemory memory = out_.tensors[static_cast<size_t>(tensor)].memory;
      if (memory != TensorMemory::kFile && memory != TensorMemory::kHeapConstant) return false;
    }
    return true;
  }

  [[nodiscard]] bool computed_early(const Operator& op, const KindRule* rule) const {
    switch (op.kind) {
      case OpKind::kShape:
      case OpKind::kRank:
        return true;
      case OpKind::kConcatenation:
        return std::ranges::all_of(op.inputs, [&](int32_t tensor) {
          if (tensor < 0) return true;
          const TensorMemory memory = out_.tensors[static_cast<size_t>(tensor)].memory;
          return memory == TensorMemory::kFile || memory == TensorMemory::kHeapConstant;
        });
      case OpKind::kReduceProd: {
        constexpr int64_t kMostElements = 8;
        return constant(op, rule->computed_early) && !op.outputs.empty() && op.outputs[0] >= 0 &&
               subgraph_.tensors[static_cast<size_t>(op.outputs[0])].element_count() <=
                   kMostElements;
      }
      default:
        return rule != nullptr && rule->computed_early != 0 && constant(op, rule->computed_early);
    }
  }

  [[nodiscard]] bool sized_when_run(const Operator& op, const KindRule* rule) const {
    if (op.kind == OpKind::kUnique) return true;
    if (op.kind == OpKind::kNonMaxSuppressionV4 || op.kind == OpKind::kNonMaxSuppressionV5)
      return !constant(op, inputs({2}));
    if (op.kind == OpKind::kStridedSlice && op.attr_int("offset", 0) != 0)
      return !constant(op, inputs({3}));
    const auto input = [&](size_t i) -> const Tensor* {
      const bool given = i < op.inputs.size() && op.inputs[i] >= 0;
      return given ? &subgraph_.tensors[static_cast<size_t>(op.inputs[i])] : nullptr;
    };
    if (op.kind == OpKind::kSlice || op.kind == OpKind::kTopkV2)
      if (const Tensor* data = input(0); data != nullptr && has_open_dimension(*data)) return true;
    if (op.kind == OpKind::kReadVariable && !op.outputs.empty() && op.outputs[0] >= 0)
      return subgraph_.tensors[static_cast<size_t>(op.outputs[0])].shape.empty();
    return rule != nullptr && rule->sizes_output != 0 && !constant(op, rule->sizes_output);
  }

  void place_outputs(int32_t index) {
    const Operator& op = subgraph_.operators[static_cast<size_t>(index)];
    const KindRule* rule = rule_of(op.kind);
    TensorMemory memory = TensorMemory::kArena;
    if (computed_early(op, rule)) {
      memory = TensorMemory::kHeapConstant;
    } else if (sized_when_run(op, rule)) {
      // A reshape to a computed shape keeps the bytes of its input, and mostly its place.
      if (op.kind != OpKind::kReshape) memory = TensorMemory::kHeap;
      out_.plans_anew_after.push_back(index);
      ++sized_when_run_;
    } else if (op.kind == OpKind::kVarHandle || op.kind == OpKind::kDensify ||
               (op.kind == OpKind::kDequantize && !op.inputs.empty() && op.inputs[0] >= 0 &&
                out_.tensors[static_cast<size_t>(op.inputs[0])].memory == TensorMemory::kFile)) {
      memory = TensorMemory::kPersistent;  // made once
    }
    // These take the type of their second operand, whatever the file says of the output.
    if ((op.kind == OpKind::kAdd || op.kind == OpKind::kSub || op.kind == OpKind::kDiv) &&
        op.inputs.size() > 1 && op.inputs[1] >= 0 && op.outputs.size() == 1 && op.outputs[0] >= 0) {
      Tensor typed = subgraph_.tensors[static_cast<size_t>(op.outputs[0])];
      typed.type = subgraph_.tensors[static_cast<size_t>(op.inputs[1])].type;
      out_.tensors[static_cast<size_t>(op.outputs[0])].bytes = planned_bytes(typed);
    }
    bool first = true;
    for (const int32_t tensor : op.outputs) {
      TensorPlace* place = place_of(tensor);
      const bool only_first = op.kind == OpKind::kUnique;
      if (place != nullptr)
        settle(tensor, *place, only_first && !first ? TensorMemory::kArena : memory);
      first = false;
    }
    constexpr int64_t kBasicLstm = 1;
    if (op.kind == OpKind::kLstm && op.attr_int("kernel_type", 0) == kBasicLstm)
      for (const size_t state : {1U, 4U})
        if (state < op.inputs.size())
          if (TensorPlace* place = place_of(op.inputs[state]);
              place != nullptr && place->memory == TensorMemory::kArena)
            place->memory = TensorMemory::kPersistent;
  }

  const Graph& graph_;
  const Subgraph& subgraph_;
  LiteRtMemory out_;
  std::map<std::string, int64_t> unknown_;
  int64_t sized_when_run_ = 0;
};

}  // namespace

int64_t planned_bytes(const Tensor& tensor) {
  constexpr int64_t kLargest = int64_t{1} << 42;  // sums must not overflow
  if (std::ranges::any_of(tensor.shape, [](int64_t size) { return size < 0; })) return 0;
  const int64_t bytes = tensor.byte_size().value_or(0);
  return bytes > kLargest ? 0 : bytes;
}

LiteRtMemory litert_memory(const Graph& graph) {
  if (graph.subgraphs.empty()) return {};
  return Walk(graph).run();
}

}  // namespace edgesage
