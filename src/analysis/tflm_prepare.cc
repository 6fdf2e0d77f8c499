#include <fmt/format.h>

#include <algorithm>

#include "src/analysis/cmsis_nn.h"
#include "src/analysis/tflm_kernels.h"
#include "src/graph/builder.h"
#include "src/graph/op_registry.h"

namespace edgesage {
namespace {

// Preparing one operator. Operands are looked up by position; what a kernel cannot do without is
// asked for with need().
class Preparation {
 public:
  Preparation(const Subgraph& subgraph, size_t index, TflmBuild build)
      : subgraph_(subgraph), index_(index), abi_(build.abi), kernels_(build.kernels) {}

  Result<TflmOperatorMemory> run() {
    const TflmKernel* kernel = tflm_kernel(op().kind);
    if (op().kind == OpKind::kCustom) return std::move(memory_);
    if (kernel == nullptr) return refuse("TensorFlow Lite Micro has no such operator");
    EDGESAGE_RETURN_IF_ERROR(check_types(*kernel));
    EDGESAGE_RETURN_IF_ERROR(check_quantized_sum());
    EDGESAGE_RETURN_IF_ERROR(check_broadcast());
    constexpr size_t kMostParts = 10;
    if (op().kind == OpKind::kConcatenation && op().inputs.size() > kMostParts)
      return refuse(fmt::format("its kernel takes {} inputs at most, not {}", kMostParts,
                                op().inputs.size()));
    EDGESAGE_RETURN_IF_ERROR(prepare(kernel->prepare));
    return std::move(memory_);
  }

 private:
  [[nodiscard]] const Operator& op() const { return subgraph_.operators[index_]; }

  [[nodiscard]] tl::unexpected<Error> refuse(std::string why) const {
    return make_error(ErrorCode::kUnsupported,
                      fmt::format("operator {} ({})", index_, op_name(op().kind)), std::move(why));
  }

  [[nodiscard]] const Tensor* at(const std::vector<int32_t>& operands, size_t position) const {
    if (position >= operands.size() || operands[position] == kNoTensor) return nullptr;
    return &subgraph_.tensors[static_cast<size_t>(operands[position])];
  }
  [[nodiscard]] const Tensor* input(size_t position) const { return at(op().inputs, position); }

  Result<const Tensor*> need(const Tensor* tensor, std::string_view what, size_t rank = 0) const {
    if (tensor == nullptr) return refuse(fmt::format("has no {}", what));
    if (tensor->shape.size() < rank)
      return refuse(fmt::format("its {} has {} dimensions; the kernel needs {}", what,
                                tensor->shape.size(), rank));
    return tensor;
  }
  [[nodiscard]] Result<const Tensor*> need_input(size_t position, size_t rank = 0) const {
    return need(input(position), fmt::format("input {}", position), rank);
  }
  [[nodiscard]] Result<const Tensor*> need_output() const {
    return need(at(op().outputs, 0), "output");
  }

  [[nodiscard]] bool calls_cmsis_nn() const { return kernels_ != TflmKernels::kReference; }
  [[nodiscard]] cmsis_nn::Core core() const {
    if (kernels_ == TflmKernels::kCmsisNnMve) return cmsis_nn::Core::kMve;
    return kernels_ == TflmKernels::kCmsisNnDsp ? cmsis_nn::Core::kDsp : cmsis_nn::Core::kPlain;
  }
  // Buffers of no bytes are not asked for.
  void scratch_if_any(int64_t bytes) {
    if (bytes > 0) scratch(bytes);
  }

  void persistent(int64_t bytes) { memory_.persistent.push_back(bytes); }
  void scratch(int64_t bytes) { memory_.scratch.push_back(bytes); }
  // The runtime makes shapes that it changes writable with a copy.
  void own_dims(const Tensor& tensor) {
    persistent(tflm::int_array_bytes(static_cast<int64_t>(tensor.shape.size())));
  }

  Status check_types(const TflmKernel& kernel) const {
    const Tensor* first = input(0);
    if (first == nullptr || kernel.types == 0) return {};
    const auto type = static_cast<unsigned>(first->type);
    if (type < 32 && ((kernel.types >> type) & 1) != 0) return {};
    return refuse(fmt::format("its kernel does not take {} (tensor {})", type_name(first->type),
                              op().inputs.front()));
  }

  Status check_broadcast() const {
    const Tensor* output = at(op().outputs, 0);
    constexpr size_t kMostDimensions = 5;
    if (op().kind != OpKind::kBroadcastTo || output == nullptr) return {};
    if (output->shape.size() <= kMostDimensions) return {};
    return refuse(fmt::format("its kernel takes {} dimensions at most, not {}", kMostDimensions,
                              output->shape.size()));
  }

  // Sums of integers are rescaled to the output's scale.
  Status check_quantized_sum() const {
    const Tensor* output = at(op().outputs, 0);
    if ((op().kind != OpKind::kAdd && op().kind != OpKind::kSub) || output == nullptr) return {};
    if (!is_quantized(output->type) || !output->quantization.scale.empty()) return {};
    return refuse("its output has no scale and zero point");
  }

  [[nodiscard]] static bool is_quantized(DataType type) {
    return type == DataType::kInt8 || type == DataType::kInt16;
  }

  // float32 with float32, int8 with int8 or packed int4, int16 with int8.
  Status check_weights(const Tensor& activations, const Tensor& weights) const {
    const DataType from = activations.type, with = weights.type;
    const bool fits =
        (from == DataType::kFloat32 && with == DataType::kFloat32) ||
        (from == DataType::kInt16 && with == DataType::kInt8) ||
        (from == DataType::kInt8 && (with == DataType::kInt8 || with == DataType::kInt4));
    if (fits) return {};
    return refuse(fmt::format("its kernel does not take {} with {} weights", type_name(from),
                              type_name(with)));
  }

  Status need_scales(const Tensor& activations, const Tensor& weights) const {
    if (!is_quantized(activations.type)) return {};
    if (!weights.quantization.scale.empty() && !weights.quantization.zero_point.empty()) return {};
    return refuse("its weights have no scale and zero point");
  }

  Status prepare(TflmPrepare what) {
    switch (what) {
      case TflmPrepare::kNothing:
      case TflmPrepare::kAssignVariable:
        return {};
      case TflmPrepare::kAddN:
        return add_n();
      case TflmPrepare::kAveragePool:
        return average_pool();
      case TflmPrepare::kBatchMatMul:
        return batch_matmul();
      case TflmPrepare::kConvolution:
        return convolution(0);
      case TflmPrepare::kDepthwise:
        return convolution(3);
      case TflmPrepare::kCumSum:
        return data_when_int8(36);
      case TflmPrepare::kLogSoftmax:
        return data_when_int8(abi_ == TflmAbi::k64 ? 40 : 28);
      case TflmPrepare::kEmbeddingLookup:
        return embedding_lookup();
      case TflmPrepare::kFullyConnected:
        return fully_connected();
      case TflmPrepare::kLstm:
        return lstm();
      case TflmPrepare::kMeanOrSum:
        return reduce(true);
      case TflmPrepare::kReduce:
        return reduce(false);
      case TflmPrepare::kMirrorPad:
        return mirror_pad();
      case TflmPrepare::kOwnOutputDims:
        return own_output_dims();
      case TflmPrepare::kReshape:
        return reshape();
      case TflmPrepare::kSoftmax:
        return softmax();
      case TflmPrepare::kSvdf:
        return svdf();
      case TflmPrepare::kTransposeConvolution:
        return transpose_convolution();
    }
    return {};
  }

  Status add_n() {
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* first, need_input(0));
    if (first->type == DataType::kInt8) persistent(40);
    scratch(tflm::kPointer.of(abi_).size * static_cast<int64_t>(op().inputs.size()));
    return {};
  }

  Status data_when_int8(int64_t bytes) {
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* first, need_input(0));
    if (first->type == DataType::kInt8) persistent(bytes);
    return {};
  }

  // Operands that are to be transposed get a tensor of their own, for good.
  void transposed(const Tensor& tensor) {
    persistent(tflm::kEvalTensor.of(abi_).size);
    own_dims(tensor);
    persistent(tflm_tensor_bytes(tensor).value_or(0));
  }

  Status batch_matmul() {
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* left, need_input(0, 2));
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* right, need_input(1, 2));
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* output, need_output());
    if (left->type != right->type || left->type != output->type)
      return refuse(fmt::format("its kernel does not take {} with {}", type_name(left->type),
                                type_name(right->type)));
    if (is_quantized(left->type)) persistent(28);
    if (op().attr_int("adj_x", 0) != 0) transposed(*left);
    if (op().attr_int("adj_y", 0) == 0) transposed(*right);
    own_dims(*output);
    if (calls_cmsis_nn() && left->type == DataType::kInt8 && !output->shape.empty())
      scratch_if_any(cmsis_nn::fully_connected_s8(core(), output->shape.back()));
    return {};
  }

  Status average_pool() {
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* from, need_input(0));
    if (calls_cmsis_nn() && is_quantized(from->type) && !from->shape.empty())
      scratch_if_any(cmsis_nn::average_pool(core(), from->shape.back()));
    return {};
  }

  // The window of operand 1 over `from`; padding as TFLite computes it.
  [[nodiscard]] cmsis_nn::Window window(const Tensor& from, const Tensor& filter,
                                        const Tensor& to) const {
    cmsis_nn::Window window;
    window.batch = from.shape[0];
    window.in_h = from.shape[1];
    window.in_w = from.shape[2];
    window.in_c = from.shape[3];
    window.filter_h = filter.shape[1];
    window.filter_w = filter.shape[2];
    window.filter_c = filter.shape[3];
    window.out_w = to.shape[2];
    window.out_c = to.shape[3];
    window.stride_h = std::max<int64_t>(1, op().attr_int("stride_h", 1));
    window.stride_w = std::max<int64_t>(1, op().attr_int("stride_w", 1));
    window.dilation_h = std::max<int64_t>(1, op().attr_int("dilation_h_factor", 1));
    window.dilation_w = std::max<int64_t>(1, op().attr_int("dilation_w_factor", 1));
    const bool same = op().attr_int("padding", 0) == static_cast<int64_t>(Padding::kSame);
    const auto before = [&](int64_t in, int64_t out, int64_t side, int64_t stride,
                            int64_t dilation) {
      const int64_t all = (out - 1) * stride + (side - 1) * dilation + 1 - in;
      return same && all > 0 ? all / 2 : 0;
    };
    window.pad_h =
        before(window.in_h, to.shape[1], window.filter_h, window.stride_h, window.dilation_h);
    window.pad_w =
        before(window.in_w, window.out_w, window.filter_w, window.stride_w, window.dilation_w);
    return window;
  }

  // A multiplier and a shift for each channel.
  void channels(int64_t count) {
    persistent(4 * count);
    persistent(4 * count);
  }

  void unpacked_weights(const Tensor& weights) {
    if (weights.type == DataType::kInt4) scratch(weights.element_count());
  }

  Status convolution(size_t channel_axis) {
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* activations, need_input(0, 4));
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* weights, need_input(1, 4));
    EDGESAGE_RETURN_IF_ERROR(check_weights(*activations, *weights));
    EDGESAGE_RETURN_IF_ERROR(need_scales(*activations, *weights));
    channels(weights->shape[channel_axis]);
    if (!calls_cmsis_nn()) {
      unpacked_weights(*weights);
      return {};
    }
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* output, need(at(op().outputs, 0), "output", 4));
    if (!is_quantized(activations->type)) return {};
    const cmsis_nn::Window over = window(*activations, *weights, *output);
    const bool depthwise = op().kind == OpKind::kDepthwiseConv2D;
    if (depthwise && weights->type == DataType::kInt4)
      scratch_if_any(cmsis_nn::depthwise_s4(core(), over));
    else if (depthwise)
      scratch_if_any(cmsis_nn::depthwise_s8(core(), over));
    else if (activations->type == DataType::kInt16)
      scratch_if_any(cmsis_nn::convolution_s16(core(), over));
    else
      scratch_if_any(cmsis_nn::convolution_s8(core(), over));
    return {};
  }

  Status fully_connected() {
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* activations, need_input(0));
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* weights, need_input(1, 1));
    EDGESAGE_RETURN_IF_ERROR(check_weights(*activations, *weights));
    const auto scales = static_cast<int64_t>(weights->quantization.scale.size());
    if (activations->type != DataType::kFloat32 && scales > 1) channels(scales);
    if (!calls_cmsis_nn())
      unpacked_weights(*weights);
    else if (activations->type == DataType::kInt8 && weights->type == DataType::kInt8)
      return fully_connected_by_cmsis_nn(*weights, scales > 1);
    return {};
  }

  // As a 1x1 convolution where the output has the dimensions for one; else Helium's kernel wants
  // the sums of the weights, which are made once where the weights are constant.
  Status fully_connected_by_cmsis_nn(const Tensor& weights, bool per_channel) {
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* output, need(at(op().outputs, 0), "output", 1));
    const int64_t outputs = output->shape.back();
    if (output->shape.size() > 2 && weights.shape.back() % 4 == 0) {
      if (!per_channel) scratch_if_any(8 * outputs);
      return {};
    }
    const int64_t sums = cmsis_nn::fully_connected_s8(core(), outputs);
    const Tensor* bias = input(2);
    if (sums > 0 && weights.is_constant() && (bias == nullptr || bias->is_constant()))
      persistent(sums);
    else
      scratch_if_any(sums);
    return {};
  }

  Status transpose_convolution() {
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* weights, need_input(1, 4));
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* activations, need_input(2, 4));
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* output, need_output());
    EDGESAGE_RETURN_IF_ERROR(check_weights(*activations, *weights));
    EDGESAGE_RETURN_IF_ERROR(need_scales(*activations, *weights));
    channels(weights->shape[0]);
    if (activations->type == DataType::kInt8 && calls_cmsis_nn()) {
      EDGESAGE_RETURN_IF_ERROR(need(output, "output", 4));
      const cmsis_nn::Window over = window(*activations, *weights, *output);
      scratch(cmsis_nn::transposed_convolution_s8(core(), over));
      scratch(cmsis_nn::reversed_filter_s8(over));  // asked for even where it is empty
    } else if (activations->type == DataType::kInt8) {
      scratch(4 * output->element_count());
    }
    if (activations->type != DataType::kInt16) return {};
    scratch(8 * output->element_count());
    const Tensor* bias = input(3);
    if (bias != nullptr && bias->type == DataType::kInt16) scratch(8 * bias->element_count());
    return {};
  }

  Status embedding_lookup() {
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* output, need_output());
    own_dims(*output);
    persistent(abi_ == TflmAbi::k64 ? 16 : 8);
    return {};
  }

  Status own_output_dims() {
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* output, need_output());
    own_dims(*output);
    return {};
  }

  Status reshape() {
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* output, need_output());
    if (std::ranges::count(output->shape, -1) == 1) own_dims(*output);
    return {};
  }

  // Four state-sized buffers, one a gate.
  Status lstm() {
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* sequence, need_input(0, 2));
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* hidden, need_input(18, 2));
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* cell, need_input(19));
    if (op().inputs.size() != 24) return refuse("its kernel needs 24 inputs");
    for (const size_t absent : {9, 10, 11, 16, 17, 20, 21, 22, 23})
      if (input(absent) != nullptr)
        return refuse("its kernel has no peepholes, projection or layer normalisation");
    if (cell->type != DataType::kInt16 && cell->type != DataType::kFloat32)
      return refuse(
          fmt::format("its kernel does not take a cell state of {}", type_name(cell->type)));
    const int64_t batch = sequence->shape[op().attr_int("time_major", 0) != 0 ? 1 : 0];
    const bool by_cmsis_nn =
        calls_cmsis_nn() && is_quantized(sequence->type) && cell->type == DataType::kInt16;
    // Biases with the sums of the weights in them, of two products a gate.
    const int64_t bias_bytes = sequence->type == DataType::kInt8 ? 4 : 8;
    for (int sums = 0; by_cmsis_nn && sums < 8; ++sums) persistent(bias_bytes * hidden->shape[1]);
    for (int gate = 0; gate < (by_cmsis_nn ? 3 : 4); ++gate)
      scratch(batch * hidden->shape[1] * bits_per_element(cell->type) / 8);
    return {};
  }

  Status reduce(bool accumulates) {
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* from, need_input(0));
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* axes, need_input(1));
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* output, need_output());
    if (accumulates && is_quantized(from->type)) scratch(4 * output->element_count());
    scratch(4 * static_cast<int64_t>(from->shape.size()));
    scratch(4 * axes->element_count());
    return {};
  }

  Status mirror_pad() {
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* from, need_input(0));
    for (int i = 0; i < 2; ++i) scratch(4 * static_cast<int64_t>(from->shape.size()));
    return {};
  }

  // 16-bit values are looked up in two tables of 513 entries.
  Status softmax() {
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* from, need_input(0, 1));
    if (from->type == DataType::kInt16)
      for (int table = 0; table < 2; ++table) persistent(2 * 513);
    return {};
  }

  Status svdf() {
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* from, need_input(0, 2));
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* weights, need_input(1, 2));
    EDGESAGE_ASSIGN_OR_RETURN(const Tensor* output, need_output());
    const int64_t rank = op().attr_int("rank", 0), batch = from->shape[0];
    const int64_t filters = weights->shape[0];
    if (rank <= 0 || filters % rank != 0)
      return refuse(fmt::format("has {} filters of rank {}", filters, rank));
    const int64_t units = filters / rank;
    if (output->shape.size() != 2 || output->shape[1] != units)
      return refuse(fmt::format("its output is not batch x {} units", units));
    scratch(4 * batch * filters);
    if (from->type != DataType::kInt8) return {};
    scratch(4 * batch * units);
    if (const int64_t sums = cmsis_nn::svdf_s8(core(), filters); calls_cmsis_nn() && sums > 0)
      persistent(sums);
    return {};
  }

  const Subgraph& subgraph_;
  size_t index_;
  TflmAbi abi_;
  TflmKernels kernels_;
  TflmOperatorMemory memory_;
};

}  // namespace

Result<TflmOperatorMemory> tflm_operator_memory(const Subgraph& subgraph, size_t op_index,
                                                TflmBuild build) {
  return Preparation(subgraph, op_index, build).run();
}

}  // namespace edgesage
