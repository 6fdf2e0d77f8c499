// What LiteRT's built-in kernels ask for beside their inputs and outputs (2.3.0, one thread):
// the temporaries of tflite/kernels/*.cc.
#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

#include "src/analysis/litert_memory.h"

namespace edgesage {
namespace {

constexpr int64_t kFloatBytes = 4, kInt32Bytes = 4;

int64_t bytes_of(DataType type) { return (bits_per_element(type) + 7) / 8; }

bool is_quantised_weight(DataType type) {
  return type == DataType::kInt8 || type == DataType::kUInt8 || type == DataType::kInt4 ||
         type == DataType::kInt2;
}

// One operator and its operands, and the list that its buffers go to.
class Kernel {
 public:
  Kernel(const Graph& graph, int32_t index, const std::vector<TensorPlace>& places,
         std::vector<KernelScratch>& out)
      : subgraph_(graph.main()),
        op_(subgraph_.operators[static_cast<size_t>(index)]),
        index_(index),
        places_(places),
        out_(out) {}

  bool append() {
    switch (op_.kind) {
      case OpKind::kConv2D:
        return convolution();
      case OpKind::kDepthwiseConv2D:
        return depthwise();
      case OpKind::kTransposeConv:
        return transpose_convolution();
      case OpKind::kConv3D:
        return convolution_3d();
      case OpKind::kFullyConnected:
        return fully_connected();
      case OpKind::kBatchMatmul:
        return batch_matmul();
      case OpKind::kMean:
      case OpKind::kSum:
      case OpKind::kReduceProd:
        return reduction(true);
      case OpKind::kReduceMax:
      case OpKind::kReduceMin:
      case OpKind::kReduceAny:
      case OpKind::kReduceAll:
        return reduction(false);
      case OpKind::kSvdf:
        return svdf();
      case OpKind::kLstm:
      case OpKind::kUnidirectionalSequenceLstm:
        return lstm();
      case OpKind::kAddN:
        return add_n();
      case OpKind::kCustom:
        return custom();
      case OpKind::kBidirectionalSequenceLstm:
      case OpKind::kBidirectionalSequenceRnn:
      case OpKind::kUnidirectionalSequenceRnn:
      case OpKind::kRnn:
      case OpKind::kConv3DTranspose:
      case OpKind::kRfft2d:
      case OpKind::kIf:
      case OpKind::kWhile:
      case OpKind::kCall:
      case OpKind::kStablehloWhile:
      case OpKind::kStablehloCase:
      case OpKind::kStablehloComposite:
      case OpKind::kUnknown:
        return false;
      default:
        return true;
    }
  }

 private:
  // Operand `i`, or nullptr where it is left out.
  [[nodiscard]] const Tensor* input(size_t i) const {
    const bool given = i < op_.inputs.size() && op_.inputs[i] >= 0 &&
                       static_cast<size_t>(op_.inputs[i]) < subgraph_.tensors.size();
    return given ? &subgraph_.tensors[static_cast<size_t>(op_.inputs[i])] : nullptr;
  }
  [[nodiscard]] const Tensor* output() const {
    const bool given = !op_.outputs.empty() && op_.outputs[0] >= 0;
    return given ? &subgraph_.tensors[static_cast<size_t>(op_.outputs[0])] : nullptr;
  }
  [[nodiscard]] TensorMemory memory(size_t i) const {
    return places_[static_cast<size_t>(op_.inputs[i])].memory;
  }
  [[nodiscard]] bool is_constant(size_t i) const {
    return memory(i) == TensorMemory::kFile || memory(i) == TensorMemory::kHeapConstant;
  }

  void want(std::string_view purpose, int64_t elements, int64_t element_bytes,
            TensorMemory memory = TensorMemory::kArena) {
    constexpr int64_t kLargest = int64_t{1} << 42;
    int64_t bytes = 0;
    if (__builtin_mul_overflow(elements, element_bytes, &bytes) || bytes > kLargest) bytes = 0;
    out_.push_back({index_, purpose, memory, std::max<int64_t>(bytes, 0)});
  }

  static bool has_rank(const Tensor* tensor, size_t rank) {
    return tensor != nullptr && tensor->shape.size() == rank;
  }
  static int64_t product(std::initializer_list<int64_t> sizes) {
    int64_t result = 1;
    for (const int64_t size : sizes)
      if (__builtin_mul_overflow(result, size, &result)) return std::numeric_limits<int64_t>::max();
    return result;
  }

  static bool scales_differ(const Tensor& filter) {
    const std::vector<float>& scale = filter.quantization.scale;
    return std::ranges::any_of(scale, [&](float one) { return one != scale.front(); });
  }

  bool convolution() {
    const Tensor *data = input(0), *filter = input(1), *result = output();
    if (!has_rank(data, 4) || !has_rank(filter, 4) || !has_rank(result, 4)) return false;
    const std::vector<int64_t>& f = filter->shape;
    const bool hybrid = data->type == DataType::kFloat32 && is_quantised_weight(filter->type);
    const bool pointwise = f[1] == 1 && f[2] == 1 && op_.attr_int("stride_h", 0) == 1 &&
                           op_.attr_int("stride_w", 0) == 1 &&
                           op_.attr_int("dilation_h_factor", 1) == 1 &&
                           op_.attr_int("dilation_w_factor", 1) == 1;
    const int64_t positions = product({data->shape[0], result->shape[1], result->shape[2]});
    if (!pointwise)
      want("im2col", product({positions, f[1], f[2], f[3]}), hybrid ? 1 : bytes_of(data->type));
    if (!hybrid) return true;
    const int64_t groups = f[3] > 0 ? data->shape[3] / f[3] : 1;
    const int64_t rows = product({data->shape[0], data->shape[1], data->shape[2], groups});
    want("quantised input", data->element_count(), 1);
    want("scales of the input", rows, kFloatBytes);
    want("sums", product({f[0], positions}), kInt32Bytes);
    if (filter->type != DataType::kUInt8 && scales_differ(*filter)) {
      want("offsets of the input", rows, kInt32Bytes);
      want("row sums of the weights", f[0], kInt32Bytes, TensorMemory::kPersistent);
    }
    return true;
  }

  bool depthwise() {
    const Tensor *data = input(0), *filter = input(1);
    if (!has_rank(data, 4) || filter == nullptr) return false;
    if (data->type != DataType::kFloat32 || filter->type != DataType::kInt8) return true;
    want("quantised input", data->element_count(), 1);
    want("scales of the input", data->shape[0], kFloatBytes);
    want("offsets of the input", data->shape[0], kInt32Bytes);
    return true;
  }

  bool transpose_convolution() {
    const Tensor *filter = input(1), *data = input(2), *result = output();
    if (!has_rank(data, 4) || !has_rank(filter, 4) || result == nullptr) return false;
    const std::vector<int64_t>& f = filter->shape;
    want("col2im", product({data->shape[1], data->shape[2], f[0], f[1], f[2]}), kInt32Bytes,
         TensorMemory::kHeap);
    want("transposed weights", filter->element_count(), bytes_of(filter->type),
         TensorMemory::kHeap);
    if (data->type == DataType::kFloat32) {
      if (filter->type != DataType::kInt8) return true;
      const int64_t rows = f[3] > 0 ? data->element_count() / f[3] : 0;
      want("quantised input", data->element_count(), 1);
      want("scales of the input", rows, kFloatBytes);
      want("offsets of the input", rows, kInt32Bytes);
      return true;
    }
    const bool wide = data->type == DataType::kInt16 &&
                      op_.attr_int("quantized_bias_type", 0) != int64_t{2};  // INT32
    want("sums", result->element_count(), wide ? 8 : kInt32Bytes, TensorMemory::kHeap);
    return true;
  }

  bool convolution_3d() {
    const Tensor *data = input(0), *filter = input(1), *result = output();
    if (!has_rank(data, 5) || !has_rank(filter, 5) || !has_rank(result, 5)) return false;
    const std::vector<int64_t>&f = filter->shape, &r = result->shape;
    const bool pointwise =
        f[0] == 1 && f[1] == 1 && f[2] == 1 && op_.attr_int("stride_d", 1) == 1 &&
        op_.attr_int("stride_h", 1) == 1 && op_.attr_int("stride_w", 1) == 1 &&
        op_.attr_int("dilation_d_factor", 1) == 1 && op_.attr_int("dilation_h_factor", 1) == 1 &&
        op_.attr_int("dilation_w_factor", 1) == 1;
    if (!pointwise)
      want("im2col", product({data->shape[0], r[1], r[2], r[3], f[0], f[1], f[2], f[3]}),
           bytes_of(data->type));
    return true;
  }

  bool fully_connected() {
    const Tensor *data = input(0), *filter = input(1);
    if (data == nullptr || !has_rank(filter, 2)) return false;
    if (data->type != DataType::kFloat32 || !is_quantised_weight(filter->type)) return true;
    const int64_t units = filter->shape[0], depth = filter->shape[1];
    const int64_t batch = depth > 0 ? data->element_count() / depth : 0;
    if (filter->type == DataType::kInt4 && is_constant(1) && batch > 0 &&
        packed_4bit(batch, depth, units))
      return true;
    want("quantised input", data->element_count(), 1);
    want("scales of the input", batch, kFloatBytes);
    want("sums", product({units, batch}), kInt32Bytes);
    want("offsets of the input", batch, kInt32Bytes);
    want("row sums of the weights", units, kInt32Bytes, TensorMemory::kPersistent);
    return !filter->sparsity;
  }

  // The kernel that packs 4-bit weights works on whole tiles: 4 units, 32 deep, up to 4 rows.
  bool packed_4bit(int64_t batch, int64_t depth, int64_t units) {
    constexpr int64_t kTileUnits = 4, kTileDepth = 32;
    if (depth % 2 != 0 || units < kTileUnits || depth < kTileDepth) return false;
    const auto round_up = [](int64_t value, int64_t to) { return (value + to - 1) / to * to; };
    const int64_t tile_rows = batch >= 4 ? 4 : batch >= 2 ? 2 : 1;
    const int64_t rows = round_up(batch, tile_rows);
    want("quantised input", product({rows, round_up(depth, kTileDepth)}), 1);
    want("scales of the input", rows, kFloatBytes);
    want("sums", product({rows, round_up(units, kTileUnits)}), kInt32Bytes);
    want("offsets of the input", rows, kInt32Bytes);
    return true;
  }

  bool batch_matmul() {
    const Tensor *left = input(0), *right = input(1);
    if (left == nullptr || right == nullptr || left->shape.size() < 2 || right->shape.size() < 2)
      return false;
    want("transposed left operand", left->element_count(), bytes_of(left->type));
    want("transposed right operand", right->element_count(), bytes_of(right->type),
         memory(1) == TensorMemory::kFile ? TensorMemory::kPersistent : TensorMemory::kArena);
    if (left->type != DataType::kFloat32 || right->type != DataType::kInt8) return true;
    const auto matrices = [](const Tensor& tensor) {
      int64_t count = 1;
      for (size_t i = 0; i + 2 < tensor.shape.size(); ++i)
        count = product({count, tensor.shape[i]});
      return count;
    };
    const auto from_end = [](const Tensor& tensor, size_t k) {
      return tensor.shape[tensor.shape.size() - k];
    };
    const int64_t rows = from_end(*left, op_.attr_int("adj_x", 0) != 0 ? 1 : 2);
    const int64_t units = from_end(*right, op_.attr_int("adj_y", 0) != 0 ? 2 : 1);
    want("quantised input", left->element_count(), 1);
    want("scales of the input", product({matrices(*left), rows}), kFloatBytes);
    want("sums", product({units, rows}), kInt32Bytes);
    want("offsets of the input", product({matrices(*left), rows}), kInt32Bytes);
    want("row sums of the weights", product({matrices(*right), units}), kInt32Bytes,
         TensorMemory::kPersistent);
    return true;
  }

  bool reduction(bool accumulates) {
    const Tensor *data = input(0), *axes = input(1), *result = output();
    if (data == nullptr || axes == nullptr || result == nullptr) return false;
    const auto rank = static_cast<int64_t>(data->shape.size());
    const bool known_axes = is_constant(1);
    want("index", rank, kInt32Bytes);
    want("axes", axes->element_count(), kInt32Bytes,
         known_axes ? TensorMemory::kArena : TensorMemory::kHeap);
    if (accumulates) {
      int64_t wide = kInt32Bytes;
      if (data->type == DataType::kInt32 || data->type == DataType::kInt64) wide = 8;
      if (data->type == DataType::kBool) wide = 1;
      want("sums", result->element_count(), wide,
           known_axes ? TensorMemory::kArena : TensorMemory::kHeap);
    }
    want("dimensions", rank, kInt32Bytes,
         is_constant(0) ? TensorMemory::kArena : TensorMemory::kHeap);
    return true;
  }

  bool svdf() {
    const Tensor *data = input(0), *features = input(1), *time = input(2);
    if (!has_rank(data, 2) || !has_rank(features, 2) || time == nullptr) return false;
    const int64_t batch = data->shape[0], filters = features->shape[0];
    const int64_t rank = std::max<int64_t>(op_.attr_int("rank", 1), 1);
    want("features", product({batch, filters}), kFloatBytes);
    if (data->type == DataType::kInt8) {
      want("sums", product({batch, filters / rank}), kInt32Bytes);
    } else if (is_quantised_weight(features->type)) {
      want("quantised input", data->element_count(), 1);
      want("scales of the input", batch, kFloatBytes);
      want("unpacked time weights", time->element_count(), kFloatBytes, TensorMemory::kPersistent);
      want("offsets of the input", batch, kFloatBytes);
      want("row sums of the weights", filters, kFloatBytes, TensorMemory::kPersistent);
    }
    return true;
  }

  bool lstm() {
    const bool sequence = op_.kind == OpKind::kUnidirectionalSequenceLstm;
    constexpr int64_t kBasic = 1;
    if (!sequence && op_.attr_int("kernel_type", 0) == kBasic) return true;
    const Tensor *data = input(0), *to_input = input(1), *to_output = input(4);
    const Tensor *recurrent = input(8), *state = input(18), *cell_state = input(19);
    if (data == nullptr || data->shape.empty() || !has_rank(to_output, 2) || recurrent == nullptr ||
        recurrent->shape.empty() || state == nullptr || cell_state == nullptr)
      return false;
    const bool time_major = sequence && op_.attr_int("time_major", 0) != 0;
    const int64_t batch =
        time_major && data->shape.size() > 1 ? data->shape[1] : data->shape.front();
    const int64_t cells = to_output->shape[0];
    if (data->type == DataType::kInt8)
      return integer_lstm(product({batch, cells}), sequence || op_.intermediates.size() == 5);
    const int64_t gates = product({cells, to_input != nullptr ? 5 : 4}) + (sequence ? 16 : 0);
    want("gates", product({batch, gates}), bytes_of(data->type));
    if (!is_quantised_weight(to_output->type)) return true;
    want("quantised input", data->element_count(), 1);
    want("quantised output state", state->element_count(), 1);
    want("quantised cell state", cell_state->element_count(), 1);
    want("scales of the input", batch, kFloatBytes);
    want("scales of the state", batch, kFloatBytes);
    want("scales of the product", batch, kFloatBytes);
    want("unpacked cell weights", cells, kFloatBytes);
    want("sums", product({cells, batch}), kInt32Bytes);
    want("offsets of the input", batch, kFloatBytes);
    want("offsets of the state", batch, kFloatBytes);
    int64_t rows = to_input != nullptr ? 8 : 6;
    if (input(16) != nullptr && cells > 0) rows += (recurrent->shape.back() + cells - 1) / cells;
    want("row sums of the weights", product({rows, cells}), kInt32Bytes, TensorMemory::kPersistent);
    return !to_output->sparsity;
  }

  bool integer_lstm(int64_t elements, bool wide_output) {
    if (wide_output) {
      for (int i = 0; i < 4; ++i) want("gate", elements, 2);
      want("output", elements, 1);
      want("sums", elements, kInt32Bytes);
    } else {
      for (int i = 0; i < 2; ++i) want("output", elements, 1);
      for (int i = 0; i < 6; ++i) want("gate", elements, 2);
    }
    return true;
  }

  bool add_n() {
    const Tensor* data = input(0);
    if (data == nullptr) return false;
    want("sums", data->element_count(), bytes_of(data->type));
    return true;
  }

  bool custom() {
    const Tensor *boxes = input(0), *classes = input(1);
    if (op_.custom_code != "TFLite_Detection_PostProcess" || !has_rank(boxes, 3) ||
        !has_rank(classes, 3))
      return false;
    want("decoded boxes", product({boxes->shape[1], 4}), kFloatBytes);
    want("scores", product({classes->shape[1], classes->shape[2]}), kFloatBytes);
    return true;
  }

  const Subgraph& subgraph_;
  const Operator& op_;
  int32_t index_;
  const std::vector<TensorPlace>& places_;
  std::vector<KernelScratch>& out_;
};

}  // namespace

bool append_kernel_scratch(const Graph& graph, int32_t op, const std::vector<TensorPlace>& tensors,
                           std::vector<KernelScratch>& out) {
  return Kernel(graph, op, tensors, out).append();
}

}  // namespace edgesage
