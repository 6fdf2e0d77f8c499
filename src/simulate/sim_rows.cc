#include "src/simulate/sim_rows.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace edgesage::simulate {
namespace {

double number(int64_t value) { return static_cast<double>(std::max<int64_t>(value, 0)); }

// Rounded up to a multiple, over itself.
double waste(double size, int64_t tile) {
  if (size <= 0) return 1;
  const auto t = static_cast<double>(tile);
  return std::ceil(size / t) * t / size;
}

template <size_t N>
std::array<float, N> wastes(double size, const std::array<int64_t, N>& tiles) {
  std::array<float, N> result{};
  for (size_t i = 0; i < N; ++i) result[i] = bounded(waste(size, tiles[i]));
  return result;
}

double taps_of(const Row& row) {
  return std::max(1.0, number(row.kernel_h) * number(row.kernel_w));
}

float rounded_taps(double taps) {
  for (const double kernel : {9.0, 25.0, 49.0})
    if (taps <= kernel) return static_cast<float>(kernel / taps);
  return 1;
}

uint8_t precision_of(DataType type) {
  const int bits = bits_per_element(type);
  if (bits > 0 && bits <= 8) return 0;
  return bits > 0 && bits <= 16 ? 1 : 2;
}

double elements_of(const Row& row, Variant variant) {
  const bool reads = variant == Variant::kReduce || variant == Variant::kArgMax ||
                     variant == Variant::kGlobalPool || row.op_kind == OpKind::kSplit ||
                     row.op_kind == OpKind::kSplitV || row.op_kind == OpKind::kUnpack;
  return number(reads ? row.ifm.elements() : row.ofm.elements());
}

bool reads_a_part(OpKind kind) {
  return kind == OpKind::kSlice || kind == OpKind::kStridedSlice || kind == OpKind::kGather ||
         kind == OpKind::kGatherNd || kind == OpKind::kEmbeddingLookup ||
         kind == OpKind::kStablehloSlice || kind == OpKind::kStablehloGather;
}

void fill_traffic(const Row& row, const RowCost& cost, SimRow& out) {
  double read = number(cost.ifm_bytes), written = number(cost.ofm_bytes);
  if (reads_a_part(row.op_kind)) read = std::min(read, written);
  if (row.ofm_tensors.size() > 1) written = std::max(written, read);  // splits
  for (size_t k = 0; k < kByteTiles.size(); ++k)
    out.bytes[k] = bounded(rounded_up(read, row.ifm.c, kByteTiles[k]) +
                           rounded_up(written, row.ofm.c, kByteTiles[k]));
  out.out_bytes = bounded(written);
  out.weights = bounded(number(cost.weights_bytes));
  const bool convolves = out.formula == Formula::kConvolution && taps_of(row) > 1;
  if (convolves)
    out.patch_bytes =
        bounded(number(row.ofm.n) * number(row.ofm.h) * number(row.ofm.w) * taps_of(row) *
                number(row.ifm.c) * bits_per_element(row.ifm_type) / 8.0);
}

void fill_geometry_of(const Row& row, SimRow& out) {
  const double groups = std::max(1.0, number(row.groups));
  const bool matrix = out.formula == Formula::kMatrix;
  const bool depthwise = out.formula == Formula::kDepthwise;
  const double in = std::max(1.0, number(row.ifm.c) / (depthwise ? 1 : groups));
  const double filters = std::max(1.0, number(row.ofm.c) / (depthwise ? 1 : groups));
  const double taps = taps_of(row);
  const double height = number(row.ofm.h), width = number(row.ofm.w);
  const double pixels = number(row.ofm.n) * height * width;
  out.waste_out = wastes(filters, kChannelTiles);
  out.waste_in = wastes(in, kChannelTiles);
  out.waste_joint = wastes(in * taps, kChannelTiles);
  out.waste_h = wastes(matrix ? 1 : height, kHeightTiles);
  out.waste_w = wastes(matrix ? 1 : width, kWidthTiles);
  if (matrix) {
    out.waste_h.fill(1);
    out.waste_w.fill(1);
  }
  out.pixels = bounded(pixels);
  out.out_rows = bounded(number(row.ofm.n) * height);
  if (out.formula != Formula::kElement) out.outputs = bounded(number(row.ofm.elements()));
  if (out.formula != Formula::kElement && !matrix) {
    const bool transposes = out.formula == Formula::kTransposeConv;
    const double calls = pixels * (depthwise ? 1 : groups);
    const double tapped =
        transposes ? number(row.ifm.n) * number(row.ifm.h) * number(row.ifm.w) : calls;
    out.calls = bounded(calls);
    out.tap_reads = taps > 1 ? bounded(tapped * taps) : 0.0F;
  }
  // Resizing walks over pixels, too: by one or four addresses each.
  if (out.variant == Variant::kResizeNearest || out.variant == Variant::kResizeBilinear) {
    out.calls = bounded(pixels);
    if (out.variant == Variant::kResizeBilinear) out.tap_reads = bounded(4 * pixels);
  }
  out.per_pixel = static_cast<float>(1 / std::max(1.0, pixels));
  out.per_in = static_cast<float>(1 / in);
  out.per_out = static_cast<float>(1 / filters);
  out.log2_taps = static_cast<float>(std::log2(taps / 9));
  out.rounded_taps = rounded_taps(taps);
  out.is_strided = row.stride_h > 1 || row.stride_w > 1;
  out.is_winograd = row.kernel_h == 3 && row.kernel_w == 3 && !out.is_strided &&
                    row.dilation_h == 1 && row.dilation_w == 1 && groups == 1;
}

bool moves_only(Variant variant) {
  switch (variant) {
    case Variant::kConcat:
    case Variant::kConcatMany:
    case Variant::kSlice:
    case Variant::kReshape:
    case Variant::kResizeNearest:
    case Variant::kDepthToSpace:
    case Variant::kPad:
    case Variant::kTranspose:
    case Variant::kGather:
      return true;
    default:
      return false;
  }
}

SimRow make_row(const Row& row, const RowCost& cost) {
  SimRow out;
  out.variant = variant_of(row);
  out.formula = formula_of(out.variant);
  out.precision = precision_of(row.ifm_type);
  out.is_cpu = row.placement == Placement::kCpu;
  out.is_copy = moves_only(out.variant);
  out.has_activation = row.activation != OpKind::kUnknown;
  out.macs = out.macs_on_output = bounded(number(cost.macs));
  if (out.formula == Formula::kTransposeConv)
    out.macs_on_output = bounded(number(row.ofm.elements()) * taps_of(row) * number(row.ifm.c));
  const double elements = elements_of(row, out.variant);
  const bool window = out.variant == Variant::kAveragePool || out.variant == Variant::kMaxPool;
  out.elements = bounded(elements);
  out.tap_elements = bounded(window ? elements * taps_of(row) / 9 : elements);
  fill_geometry_of(row, out);
  fill_traffic(row, cost, out);
  return out;
}

// In steps, so that rows of one shape with weights of their own stay equal mostly.
float coded_bytes(float stored, const WeightStats& stats) {
  constexpr double kSteps = 16;
  if (stats.encoded_bits_estimate <= 0) return stored;
  const double ratio = std::clamp(stats.encoded_bits_estimate / 8, 1 / kSteps, 1.0);
  return stored * static_cast<float>(std::round(ratio * kSteps) / kSteps);
}

bool is_product(const SimRow& row) {
  return row.formula == Formula::kConvolution || row.formula == Formula::kDepthwise ||
         row.formula == Formula::kTransposeConv || row.variant == Variant::kFullyConnected;
}

bool is_activation(Variant variant) {
  return variant >= Variant::kRelu && variant <= Variant::kLut;
}

class Contexts {
 public:
  Contexts(const Lowering& lowering, const std::vector<SimRow>& rows,
           const std::vector<int32_t>& consumers)
      : lowering_(lowering), rows_(rows), consumers_(consumers) {}

  [[nodiscard]] Context of(size_t index) const {
    const Row& row = lowering_.rows[index];
    const SimRow& sim = rows_[index];
    if (is_activation(sim.variant) && row.inputs.size() == 1) return activation(row.inputs[0]);
    if (sim.variant == Variant::kAdd) return add(row);
    if (sim.variant == Variant::kMulBroadcast && any_input(row, [&](const SimRow& producer) {
          return is_product(producer) || producer.variant == Variant::kAdd;
        }))
      return Context::kMulOfProduct;
    if (sim.variant == Variant::kPad && only_reader_[index] && is_only_use(index))
      return Context::kPadOfProduct;
    return Context::kNone;
  }

  // Rows whose only reader is a convolution or pooling.
  void find_padded() {
    only_reader_.assign(rows_.size(), false);
    for (size_t i = 0; i < rows_.size(); ++i) {
      const bool pads = is_product(rows_[i]) || rows_[i].variant == Variant::kAveragePool ||
                        rows_[i].variant == Variant::kMaxPool;
      for (const int32_t input : lowering_.rows[i].inputs)
        if (pads) only_reader_[static_cast<size_t>(input)] = true;
    }
  }

  [[nodiscard]] double skip_bytes(const Row& row, const std::vector<RowCost>& costs) const {
    double bytes = 0;
    for (const int32_t input : row.inputs)
      if (!is_only_use(static_cast<size_t>(input)))
        bytes = std::max(bytes, number(costs[static_cast<size_t>(input)].ofm_bytes));
    return bytes;
  }

 private:
  [[nodiscard]] bool is_only_use(size_t producer) const { return consumers_[producer] == 1; }

  template <class Predicate>
  [[nodiscard]] bool any_input(const Row& row, Predicate predicate) const {
    return std::ranges::any_of(row.inputs, [&](int32_t input) {
      return is_only_use(static_cast<size_t>(input)) &&
             predicate(rows_[static_cast<size_t>(input)]);
    });
  }

  [[nodiscard]] Context activation(int32_t input) const {
    const SimRow& producer = rows_[static_cast<size_t>(input)];
    const bool computes = is_product(producer) || producer.variant == Variant::kAdd ||
                          producer.variant == Variant::kMul ||
                          producer.variant == Variant::kMulBroadcast ||
                          producer.variant == Variant::kElementwise;
    if (!computes) return Context::kNone;
    return is_only_use(static_cast<size_t>(input)) ? Context::kActivationOfOnlyUse
                                                   : Context::kActivationShared;
  }

  [[nodiscard]] Context add(const Row& row) const {
    if (any_input(row, is_product)) return Context::kAddOfProduct;
    const auto is_add = [](const SimRow& producer) { return producer.variant == Variant::kAdd; };
    return any_input(row, is_add) ? Context::kAddOfAdd : Context::kNone;
  }

  const Lowering& lowering_;
  const std::vector<SimRow>& rows_;
  const std::vector<int32_t>& consumers_;
  std::vector<bool> only_reader_;
};

// Rows without weights that do what an earlier one does with the same tensors.
void mark_repeated(const Lowering& lowering, std::vector<SimRow>& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = lowering.rows[i];
    if (rows[i].formula != Formula::kElement || row.ifm_tensors.size() != 1) continue;
    const auto same = [&](size_t other) {
      const Row& before = lowering.rows[other];
      return before.op_kind == row.op_kind && before.kind == row.kind &&
             before.ifm_tensors == row.ifm_tensors && before.ofm == row.ofm &&
             before.kernel_h == row.kernel_h && before.stride_h == row.stride_h &&
             !row.ofm_tensors.empty() && row.op_kind != OpKind::kStridedSlice &&
             row.op_kind != OpKind::kSlice;
    };
    // Readers of a tensor stand near each other; a bound keeps this linear.
    for (size_t back = 1; back <= std::min<size_t>(i, 16); ++back)
      if (same(i - back)) {
        rows[i].is_repeated = true;
        break;
      }
  }
}

}  // namespace

float bounded(double value) {
  return static_cast<float>(std::min(value, static_cast<double>(kLargest)));
}

double rounded_up(double value, int64_t channels, int64_t tile) {
  return value * waste(number(channels), tile);
}

std::vector<SimRow> make_sim_rows(const Lowering& lowering, const std::vector<RowCost>& costs,
                                  const std::vector<WeightStats>& stats,
                                  const std::vector<int32_t>& consumers,
                                  const std::vector<int64_t>& live) {
  std::vector<SimRow> rows;
  rows.reserve(lowering.rows.size());
  for (size_t i = 0; i < lowering.rows.size(); ++i) {
    rows.push_back(make_row(lowering.rows[i], costs[i]));
    rows[i].coded = coded_bytes(rows[i].weights, stats[i]);
    if (i < live.size()) rows[i].live = bounded(number(live[i]));
  }
  Contexts contexts(lowering, rows, consumers);
  contexts.find_padded();
  std::vector<Context> context(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) context[i] = contexts.of(i);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].variant == Variant::kAdd)
      rows[i].skip_bytes = bounded(contexts.skip_bytes(lowering.rows[i], costs));
  }
  for (size_t i = 0; i < rows.size(); ++i) rows[i].context = context[i];
  mark_repeated(lowering, rows);
  return rows;
}

}  // namespace edgesage::simulate
