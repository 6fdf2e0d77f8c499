#include "src/analysis/tflm_arena.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "src/analysis/greedy_plan.h"
#include "src/analysis/tflm_kernels.h"
#include "src/analysis/tflm_lifetimes.h"
#include "src/graph/op_registry.h"

namespace edgesage {
namespace {

constexpr std::string_view kOfflinePlan = "OfflineMemoryAllocation";

int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

// Kinds of allocations at the tail, in the order of TflmArena::allocations.
enum Kind : uint8_t {
  kEvalTensors,
  kTensors,
  kQuantization,
  kBuffers,
  kVariables,
  kNodes,
  kOptions,
  kInterpreter,
  kScratchHandles,
  kKindCount,
};
constexpr std::array<std::string_view, kKindCount> kKindNames = {
    "TfLiteEvalTensor data",
    "Persistent TfLiteTensor data",
    "Persistent TfLiteTensor quantization data",
    "Persistent buffer data",
    "TfLiteTensor variable buffer data",
    "NodeAndRegistration struct",
    "operator options",
    "interpreter",
    "scratch buffer handles"};

// The tail grows downwards from an aligned end.
class Tail {
 public:
  explicit Tail(TflmAbi abi) : abi_(abi), allocations_(kKindCount) {
    for (size_t i = 0; i < kKindCount; ++i) allocations_[i].name = kKindNames[i];
  }

  void take(Kind kind, int64_t bytes, int64_t align) {
    const int64_t before = used_;
    used_ = round_up(used_ + bytes, align);
    TflmAllocation& to = allocations_[kind];
    to.used_bytes += used_ - before;
    to.requested_bytes += bytes;
    ++to.count;
  }
  void take(Kind kind, const TflmStructs& structs, int64_t count = 1) {
    const TflmStruct one = structs.of(abi_);
    take(kind, one.size * count, one.align);
  }
  // As kernels ask for memory.
  void buffer(int64_t bytes) { take(kBuffers, bytes, tflm::kArenaAlignment); }
  // An array is one allocation; the runtime counts its elements.
  void count_elements(Kind kind, int64_t elements) { allocations_[kind].count += elements - 1; }

  [[nodiscard]] int64_t used() const { return used_; }
  std::vector<TflmAllocation> take_allocations() { return std::move(allocations_); }

 private:
  TflmAbi abi_;
  int64_t used_ = 0;
  std::vector<TflmAllocation> allocations_;
};

struct ScratchRequest {
  int32_t subgraph = 0;
  int32_t op = 0;
  int64_t bytes = 0;
};

std::string variable_name(const Operator& op) {
  const auto* container = op.find("container");
  const auto* shared = op.find("shared_name");
  const auto text = [](const Attribute::Value* value) {
    const auto* found = value != nullptr ? std::get_if<std::string>(value) : nullptr;
    return found != nullptr ? *found : std::string();
  };
  return text(container) + '\n' + text(shared);
}

// Follows the interpreter from its construction to the end of its allocations.
class Arena {
 public:
  Arena(const Graph& graph, TflmBuild build)
      : graph_(graph), build_(build), abi_(build.abi), tail_(build.abi) {}

  Result<TflmArena> run() {
    if (build_.kernels != TflmKernels::kReference && abi_ != TflmAbi::k32)
      return make_error(ErrorCode::kInvalidArgument, "kernels",
                        "CMSIS-NN's are for microcontrollers: take 32 bits, or reference");
    EDGESAGE_RETURN_IF_ERROR(check_tensors());
    allocate_interpreter();
    allocate_tables();
    EDGESAGE_RETURN_IF_ERROR(allocate_operators());
    if (!scratch_.empty())
      tail_.take(kScratchHandles, tflm::kScratchHandle, static_cast<int64_t>(scratch_.size()));
    EDGESAGE_RETURN_IF_ERROR(read_offline_plan());
    allocate_variables();
    EDGESAGE_RETURN_IF_ERROR(plan());
    allocate_ports(graph_.main().inputs);
    allocate_ports(graph_.main().outputs);
    return finish();
  }

 private:
  template <class Visit>
  void each_operator(Visit visit) const {
    for (size_t s = 0; s < graph_.subgraphs.size(); ++s)
      for (size_t i = 0; i < graph_.subgraphs[s].operators.size(); ++i)
        visit(s, graph_.subgraphs[s].operators[i]);
  }

  [[nodiscard]] std::string place(size_t subgraph, std::string_view where) const {
    return subgraph == 0 ? std::string(where) : fmt::format("subgraph {}, {}", subgraph, where);
  }

  // The runtime asks for the size of every tensor, used or not, and has no dynamic shapes.
  Status check_tensors() {
    if (graph_.subgraphs.empty())
      return make_error(ErrorCode::kUnsupported, "", "the model has no subgraphs");
    for (size_t s = 0; s < graph_.subgraphs.size(); ++s) {
      const Subgraph& subgraph = graph_.subgraphs[s];
      std::vector<int64_t>& bytes = bytes_.emplace_back();
      for (size_t i = 0; i < subgraph.tensors.size(); ++i) {
        const std::optional<int64_t> size = tflm_tensor_bytes(subgraph.tensors[i]);
        if (!size)
          return make_error(ErrorCode::kUnsupported, place(s, fmt::format("tensor {}", i)),
                            fmt::format("TensorFlow Lite Micro does not take tensors of {}",
                                        type_name(subgraph.tensors[i].type)));
        bytes.push_back(*size);
      }
    }
    return {};
  }

  void allocate_interpreter() {
    tail_.take(kInterpreter, tflm::kArenaAllocator);
    tail_.take(kInterpreter, tflm::kGreedyPlanner);
    tail_.take(kInterpreter, tflm::kMicroAllocator);
    std::set<std::string> variables;
    each_operator([&](size_t, const Operator& op) {
      if (op.kind == OpKind::kVarHandle) variables.insert(variable_name(op));
    });
    if (!variables.empty()) {
      tail_.buffer(tflm::kResourceVariables.of(abi_).size);
      tail_.buffer(tflm::kResourceVariable.of(abi_).size * static_cast<int64_t>(variables.size()));
    }
    tail_.take(kInterpreter, tflm::kBuiltinDataAllocator);
    tail_.take(kInterpreter, tflm::kSubgraphAllocations,
               static_cast<int64_t>(graph_.subgraphs.size()));
  }

  void allocate_tables() {
    for (const Subgraph& subgraph : graph_.subgraphs) {
      const auto count = static_cast<int64_t>(subgraph.tensors.size());
      tail_.take(kEvalTensors, tflm::kEvalTensor, count);
      tail_.count_elements(kEvalTensors, count);
    }
    for (const Subgraph& subgraph : graph_.subgraphs) {
      const auto count = static_cast<int64_t>(subgraph.operators.size());
      tail_.take(kNodes, tflm::kNodeAndRegistration, count);
      tail_.count_elements(kNodes, count);
    }
  }

  Status allocate_operators() {
    // Every kernel is looked up before any is prepared; a missing one is the first to be named.
    std::optional<Error> missing;
    each_operator([&](size_t s, const Operator& op) {
      const TflmKernel* kernel = tflm_kernel(op.kind);
      if (kernel != nullptr) {
        if (kernel->options.of(abi_).size > 0) tail_.take(kOptions, kernel->options);
      } else if (op.kind == OpKind::kCustom) {
        const auto i = &op - graph_.subgraphs[s].operators.data();
        not_counted_.push_back(
            place(s, fmt::format("operator {} ({}): a custom kernel; what it allocates for itself "
                                 "is not known",
                                 i, op.custom_code)));
      } else if (!missing) {
        const auto i = static_cast<size_t>(&op - graph_.subgraphs[s].operators.data());
        Error error = tflm_operator_memory(graph_.subgraphs[s], i, build_).error();
        error.where = place(s, error.where);
        missing = std::move(error);
      }
    });
    if (missing) return tl::unexpected(*missing);
    each_operator([&](size_t, const Operator& op) {
      const TflmKernel* kernel = tflm_kernel(op.kind);
      const int64_t bytes = kernel == nullptr ? 0 : tflm_kernel_data(*kernel, build_);
      if (bytes > 0) tail_.buffer(bytes);
    });
    for (size_t s = 0; s < graph_.subgraphs.size(); ++s)
      for (size_t i = 0; i < graph_.subgraphs[s].operators.size(); ++i)
        EDGESAGE_RETURN_IF_ERROR(prepare(s, i));
    return {};
  }

  Status prepare(size_t s, size_t i) {
    const Subgraph& subgraph = graph_.subgraphs[s];
    const Operator& op = subgraph.operators[i];
    Result<TflmOperatorMemory> memory = tflm_operator_memory(subgraph, i, build_);
    if (!memory) {
      Error error = std::move(memory).error();
      error.where = place(s, error.where);
      return tl::unexpected(std::move(error));
    }
    for (const int64_t bytes : memory->persistent) tail_.buffer(bytes);
    for (const int64_t bytes : memory->scratch)
      scratch_.push_back({static_cast<int32_t>(s), static_cast<int32_t>(i), bytes});
    note_preparation(subgraph, op);
    if (op.kind == OpKind::kReshape) resolve_reshape(s, op);
    if (op.kind == OpKind::kVarHandle && !op.outputs.empty())
      handles_[{s, op.outputs.front()}] = variable_name(op);
    if (op.kind == OpKind::kAssignVariable) assign_variable(s, op);
    return check_shapes(s, i);
  }

  // A dimension that the file leaves open is computed from the input.
  void resolve_reshape(size_t s, const Operator& op) {
    const Subgraph& subgraph = graph_.subgraphs[s];
    if (op.inputs.empty() || op.inputs.front() == kNoTensor || op.outputs.empty()) return;
    const Tensor& from = subgraph.tensors[static_cast<size_t>(op.inputs.front())];
    const auto to = static_cast<size_t>(op.outputs.front());
    if (std::ranges::count(subgraph.tensors[to].shape, -1) != 1) return;
    Tensor scalar;
    scalar.type = subgraph.tensors[to].type;
    const int64_t one = tflm_tensor_bytes(scalar).value_or(0);
    bytes_[s][to] = from.element_count() * one;
    resolved_.insert({s, static_cast<int32_t>(to)});
  }

  // A resource variable gets its memory from the first assignment in the subgraph of its handle.
  void assign_variable(size_t s, const Operator& op) {
    if (op.inputs.size() < 2 || op.inputs[1] == kNoTensor) return;
    const auto handle = handles_.find({s, op.inputs[0]});
    if (handle == handles_.end() || !assigned_.insert(handle->second).second) return;
    tail_.buffer(bytes_[s][static_cast<size_t>(op.inputs[1])]);
  }

  Status check_shapes(size_t s, size_t i) const {
    const Subgraph& subgraph = graph_.subgraphs[s];
    for (const int32_t output : subgraph.operators[i].outputs) {
      if (output == kNoTensor || resolved_.contains({s, output})) continue;
      const std::vector<int64_t>& shape = subgraph.tensors[static_cast<size_t>(output)].shape;
      if (shape.size() == 1 && shape[0] == 0) continue;  // the old way to write a scalar
      if (std::ranges::all_of(shape, [](int64_t side) { return side > 0; })) continue;
      return make_error(
          ErrorCode::kUnsupported,
          place(s, fmt::format("operator {} ({})", i, op_name(subgraph.operators[i].kind))),
          fmt::format("tensor {} has no fixed shape; TensorFlow Lite Micro needs one", output));
    }
    return {};
  }

  // Offsets that a converter planned: a version, a subgraph, a count, and one an tensor; -1 where
  // the runtime plans.
  Status read_offline_plan() {
    size_t tensors = 0;
    for (const Subgraph& subgraph : graph_.subgraphs) tensors += subgraph.tensors.size();
    for (const Metadata& entry : graph_.metadata) {
      if (entry.name != kOfflinePlan || entry.buffer == kNoBuffer) continue;
      const auto data = graph_.buffers[static_cast<size_t>(entry.buffer)].data;
      std::vector<int32_t> words(data.size() / sizeof(int32_t));
      if (!words.empty()) std::memcpy(words.data(), data.data(), words.size() * sizeof(int32_t));
      if (words.size() < 3 || std::cmp_not_equal(words[2], tensors) || words.size() - 3 < tensors)
        return make_error(ErrorCode::kUnsupported, std::string(kOfflinePlan),
                          fmt::format("does not hold one offset for each of {} tensors", tensors));
      offline_.assign(words.begin() + 3, words.begin() + 3 + static_cast<std::ptrdiff_t>(tensors));
    }
    return {};
  }

  [[nodiscard]] int64_t offline_offset(size_t index) const {
    return offline_.empty() ? -1 : offline_[index];
  }

  // While operators are prepared, the head holds requests for scratch memory, and above them what a
  // kernel looks at: a full tensor for each operand, convolutions twice.
  void note_preparation(const Subgraph& subgraph, const Operator& op) {
    int64_t looked_at = 0;
    for (const std::vector<int32_t>* operands : {&op.inputs, &op.outputs, &op.intermediates})
      for (const int32_t tensor : *operands)
        if (tensor != kNoTensor)
          looked_at += full_tensor_bytes(subgraph.tensors[static_cast<size_t>(tensor)]);
    note_need(requests_bytes() + 2 * looked_at + tail_.used());
  }

  [[nodiscard]] int64_t full_tensor_bytes(const Tensor& tensor) const {
    const Quantization& quantization = tensor.quantization;
    int64_t bytes = tflm::kTensor.of(abi_).size;
    if (!quantization.scale.empty() && !quantization.zero_point.empty())
      bytes += tflm::kAffineQuantization.of(abi_).size +
               round_up(tflm::int_array_bytes(static_cast<int64_t>(quantization.scale.size())), 8);
    return bytes;
  }

  [[nodiscard]] int64_t requests_bytes() const {
    return tflm::kScratchRequest.of(abi_).size *
           (static_cast<int64_t>(scratch_.size()) + tflm::kScratchRequestsPerOperator);
  }

  // The planner's own tables, in the room that the plan is for.
  void note_planning() {
    const auto infos =
        std::accumulate(bytes_.begin(), bytes_.end(), static_cast<int64_t>(scratch_.size()),
                        [](int64_t sum, const auto& of_subgraph) {
                          return sum + static_cast<int64_t>(of_subgraph.size());
                        });
    const int64_t offsets = tflm::kPointer.of(abi_).size * static_cast<int64_t>(bytes_.size());
    note_need(requests_bytes() + offsets + tflm::kAllocationInfo.of(abi_).size * infos +
              tflm::kPlannerBytesPerBuffer * static_cast<int64_t>(wanted_.size()) +
              2 * tflm::kArenaAlignment + tail_.used());
  }

  void note_need(int64_t bytes) { needed_ = std::max(needed_, bytes); }

  void allocate_variables() {
    size_t index = 0;
    for (size_t s = 0; s < graph_.subgraphs.size(); ++s)
      for (size_t i = 0; i < graph_.subgraphs[s].tensors.size(); ++i, ++index)
        if (graph_.subgraphs[s].tensors[i].is_variable && offline_offset(index) < 0)
          tail_.take(kVariables, bytes_[s][i], tflm::kArenaAlignment);
  }

  // Whether the planner places a tensor: it has no data of its own.
  [[nodiscard]] bool is_planned(size_t s, size_t i, int64_t fixed_offset) const {
    const Tensor& tensor = graph_.subgraphs[s].tensors[i];
    if (tensor.is_variable) return fixed_offset >= 0;
    return !tensor.is_constant() && bytes_[s][i] != 0 &&
           !handles_.contains({s, static_cast<int32_t>(i)});
  }

  void add_buffer(TflmBuffer buffer, int64_t fixed_offset, StepRange alive) {
    buffer.bytes = round_up(buffer.bytes, tflm::kArenaAlignment);
    buffer.first_step = alive.first;
    buffer.last_step = alive.last;
    wanted_.push_back({buffer.bytes, alive.first, alive.last, fixed_offset});
    buffers_.push_back(buffer);
  }

  Status plan() {
    EDGESAGE_ASSIGN_OR_RETURN(const TflmLifetimes lifetimes, tflm_lifetimes(graph_));
    size_t index = 0;
    for (size_t s = 0; s < graph_.subgraphs.size(); ++s)
      for (size_t i = 0; i < graph_.subgraphs[s].tensors.size(); ++i, ++index) {
        const int64_t fixed_offset = offline_offset(index);
        if (is_planned(s, i, fixed_offset))
          add_buffer({static_cast<int32_t>(s), static_cast<int32_t>(i), -1, bytes_[s][i], 0, 0, 0},
                     fixed_offset, lifetimes.tensors[s][i]);
      }
    const size_t activations = buffers_.size();
    for (const ScratchRequest& request : scratch_)
      add_buffer({request.subgraph, kNoTensor, request.op, request.bytes, 0, 0, 0}, -1,
                 lifetimes.operators[static_cast<size_t>(request.subgraph)]
                                    [static_cast<size_t>(request.op)]);
    note_planning();
    EDGESAGE_ASSIGN_OR_RETURN(const GreedyPlan all, greedy_plan(wanted_));
    for (size_t i = 0; i < buffers_.size(); ++i) buffers_[i].offset = all.offsets[i];
    head_ = all.bytes;
    activations_ = head_;
    if (activations == buffers_.size()) return {};
    EDGESAGE_ASSIGN_OR_RETURN(const GreedyPlan without,
                              greedy_plan(std::span(wanted_).first(activations)));
    activations_ = std::min(head_, without.bytes);
    return {};
  }

  // A pointer and a full tensor for each input and output of the model.
  void allocate_ports(const std::vector<int32_t>& ports) {
    tail_.buffer(tflm::kPointer.of(abi_).size * static_cast<int64_t>(ports.size()));
    for (const int32_t port : ports) {
      tail_.take(kTensors, tflm::kTensor);
      const Quantization& quantization =
          graph_.main().tensors[static_cast<size_t>(port)].quantization;
      if (quantization.scale.empty() || quantization.zero_point.empty()) continue;
      tail_.take(kQuantization, tflm::kAffineQuantization);
      tail_.take(kQuantization,
                 tflm::int_array_bytes(static_cast<int64_t>(quantization.scale.size())),
                 tflm::kIntArrayAlign);
    }
  }

  Result<TflmArena> finish() {
    TflmArena arena;
    arena.activations_bytes = activations_;
    arena.scratch_bytes = head_ - activations_;
    arena.runtime_bytes = tail_.used();
    arena.total_bytes = head_ + tail_.used();
    note_need(arena.total_bytes);
    arena.sufficient_bytes = round_up(needed_, tflm::kArenaAlignment);
    if (arena.total_bytes > std::numeric_limits<int32_t>::max())
      return make_error(
          ErrorCode::kUnsupported, "",
          fmt::format("needs {} bytes; TensorFlow Lite Micro plans below 2 GB", arena.total_bytes));
    arena.allocations = tail_.take_allocations();
    arena.buffers = std::move(buffers_);
    arena.not_counted = std::move(not_counted_);
    return arena;
  }

  const Graph& graph_;
  TflmBuild build_;
  TflmAbi abi_;
  Tail tail_;
  std::vector<std::string> not_counted_;
  std::vector<std::vector<int64_t>> bytes_;  // of each tensor
  std::vector<ScratchRequest> scratch_;
  std::map<std::pair<size_t, int32_t>, std::string> handles_;  // resource tensors: their variable
  std::set<std::string> assigned_;                             // variables that have memory
  std::set<std::pair<size_t, int32_t>> resolved_;              // shapes that a reshape completed
  std::vector<int32_t> offline_;
  std::vector<PlanBuffer> wanted_;
  std::vector<TflmBuffer> buffers_;
  int64_t activations_ = 0;
  int64_t head_ = 0;
  int64_t needed_ = 0;  // at any moment so far
};

}  // namespace

Result<TflmArena> tflm_arena(const Graph& graph, TflmBuild build) {
  return Arena(graph, build).run();
}

}  // namespace edgesage
