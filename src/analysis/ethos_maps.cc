#include "src/analysis/ethos_maps.h"

#include <algorithm>
#include <array>

#include "src/analysis/ethos_machine.h"
#include "src/lower/operator_shapes.h"

namespace edgesage {
namespace {

constexpr int64_t kLargest = int64_t{1} << 42;  // sums of sizes must not overflow

// Places in memory begin at multiples of this.
constexpr int64_t kAlignment = 16;

int64_t bytes_of(int64_t pixels, int64_t channels, DataType type) {
  const double width = std::max(bits_per_element(type) / 8.0, 1.0);
  const double bytes = static_cast<double>(pixels) * static_cast<double>(channels) * width;
  if (bytes >= static_cast<double>(kLargest)) return kLargest;
  return (static_cast<int64_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
}

EthosMap sized(int64_t pixels, int64_t channels, int64_t stored_channels, DataType type) {
  return {.bytes = bytes_of(pixels, stored_channels, type),
          .linear_bytes = bytes_of(pixels, channels, type)};
}

EthosMap sized(const Tensor& tensor, bool is_u55) {
  int64_t pixels = 1, channels = 1;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    const int64_t side = std::clamp<int64_t>(tensor.shape[i], 1, 1 << 20);
    if (i + 1 == tensor.shape.size())
      channels = side;
    else
      pixels = std::min(pixels, kLargest) * side;
  }
  const int64_t stored = is_u55 ? ethos_stored_channels(channels) : (channels + 15) / 16 * 16;
  return sized(std::min(pixels, kLargest), channels, stored, tensor.type);
}

class MapTable {
 public:
  MapTable(const Graph& graph, const Lowering& lowering, const std::vector<uint8_t>& chained)
      : subgraph_(graph.main()), lowering_(lowering), of_tensor_(subgraph_.tensors.size(), -1) {
    result_.rows.resize(lowering.rows.size());
    result_.leaders.resize(lowering.rows.size());
    for (size_t i = 0; i < lowering.rows.size(); ++i)
      result_.leaders[i] = chained[i] != 0 ? result_.leaders[i - 1] : static_cast<int32_t>(i);
  }

  EthosMaps run() && {
    for (const int32_t tensor : subgraph_.inputs)
      if (const int32_t map = map_of(tensor); map >= 0) at(map).border = at(map).is_input = true;
    for (const int32_t tensor : subgraph_.outputs)
      if (const int32_t map = map_of(tensor); map >= 0) at(map).border = at(map).is_output = true;
    for (size_t i = 0; i < lowering_.rows.size(); ++i) add_row(i);
    for (const Operator& op : subgraph_.operators) mark_linear(op);
    if (!is_u55()) mark_reshaped();
    for (EthosMap& map : result_.maps) {
      map.border |= map.writers == 0;
      map.linear |= map.border;
      if (map.linear) map.bytes = map.linear_bytes;
    }
    return std::move(result_);
  }

 private:
  bool is_u55() const { return lowering_.target.kind == TargetKind::kEthosU55; }

  EthosMap& at(int32_t map) { return result_.maps[static_cast<size_t>(map)]; }

  int32_t add_map(const EthosMap& map) {
    result_.maps.push_back(map);
    return static_cast<int32_t>(result_.maps.size()) - 1;
  }

  int32_t map_of(int32_t tensor) {
    if (tensor < 0 || static_cast<size_t>(tensor) >= of_tensor_.size()) return -1;
    if (static_cast<size_t>(tensor) < lowering_.storage.size())
      tensor = lowering_.storage[static_cast<size_t>(tensor)];
    const auto i = static_cast<size_t>(tensor);
    if (of_tensor_[i] < 0) of_tensor_[i] = add_map(sized(subgraph_.tensors[i], is_u55()));
    return of_tensor_[i];
  }

  void use(int32_t map, int32_t row) {
    EthosMap& m = at(map);
    m.first_row = m.first_row < 0 ? row : std::min(m.first_row, row);
    m.last_row = std::max(m.last_row, row);
    m.border |= lowering_.rows[static_cast<size_t>(row)].placement != Placement::kNpu;
  }

  void read(size_t row, int32_t map, int32_t& count) {
    const int32_t leader = result_.leaders[row];
    const auto between = static_cast<size_t>(leader);
    // What a chained row takes over from the rows before it never exists.
    if (between != row && map == result_.rows[row - 1].written) return;
    use(map, leader);
    use(map, static_cast<int32_t>(row));
    ++at(map).readers;
    if (count < 2) result_.rows[row].read[count++] = map;
  }

  void add_row(size_t index) {
    const Row& row = lowering_.rows[index];
    int32_t count = 0;
    for (const int32_t tensor : row.ifm_tensors)
      if (const int32_t map = map_of(tensor); map >= 0) read(index, map, count);
    for (const int32_t producer : row.inputs) {
      const auto p = static_cast<size_t>(producer);
      if (lowering_.rows[p].ofm_tensors.empty() && result_.rows[p].written >= 0)
        read(index, result_.rows[p].written, count);
    }
    write(index);
  }

  // Parts of a concatenation that do not start at a brick of 16 channels.
  void mark_linear(const Operator& op) {
    if (op.kind != OpKind::kConcatenation || op.outputs.empty()) return;
    const int32_t map = map_of(op.outputs.front());
    if (map < 0) return;
    int64_t channels = 0;
    bool is_aligned = true;
    for (const int32_t input : op.inputs) {
      is_aligned = is_aligned && channels % 16 == 0;
      channels += channels_of(input);
    }
    // Else it is not along the channels.
    if (channels == channels_of(op.outputs.front())) at(map).linear |= !is_aligned;
  }

  // What is read in another shape than it is written in is stored plainly.
  void mark_reshaped() {
    constexpr int64_t kFlat = -1;
    std::vector<int64_t> width(result_.maps.size(), 0), channels(result_.maps.size(), 0);
    const auto meet = [&](int32_t map, const Shape4& shape, DataType type, bool flat) {
      // A part of a concatenation or of what is split is no other shape.
      const int64_t pixels = std::clamp<int64_t>(
          saturating_product(std::array{shape.n, shape.h, shape.w}), 1, kLargest >> 20);
      if (map < 0 || bytes_of(pixels, shape.c, type) != at(map).linear_bytes) return;
      const auto i = static_cast<size_t>(map);
      const int64_t w = flat ? kFlat : shape.w, c = flat ? kFlat : shape.c;
      if (channels[i] != 0 && (width[i] != w || channels[i] != c)) at(map).linear = true;
      width[i] = w, channels[i] = c;
    };
    for (size_t i = 0; i < lowering_.rows.size(); ++i) {
      const Row& row = lowering_.rows[i];
      const EthosRowMaps& maps = result_.rows[i];
      if (row.placement != Placement::kNpu) continue;
      const bool flat = ethos_flattens(row), same = ethos_kernel(row) == EthosKernel::kElementwise;
      meet(maps.read[0], same ? row.ofm : row.ifm, row.ifm_type, flat);
      meet(maps.read[1], row.has_ifm2 ? row.ifm2 : row.ofm, row.ifm_type, flat);
      meet(maps.written, row.ofm, row.ofm_type, flat);
      if (row.kind == RowKind::kReduce && maps.read[0] >= 0) at(maps.read[0]).linear = true;
      // Groups are rows of their own on some of the channels.
      const int64_t groups = row.kind == RowKind::kConv2D ? std::max<int64_t>(row.groups, 1) : 1;
      const auto cut = [&](int32_t map, int64_t count) {
        if (map >= 0 && groups > 1 && count / groups % 16 != 0) at(map).linear = true;
      };
      cut(maps.read[0], row.ifm.c);
      cut(maps.written, row.ofm.c);
    }
  }

  int64_t channels_of(int32_t tensor) const {
    if (tensor < 0 || static_cast<size_t>(tensor) >= subgraph_.tensors.size()) return 0;
    const std::vector<int64_t>& shape = subgraph_.tensors[static_cast<size_t>(tensor)].shape;
    return shape.empty() ? 0 : std::clamp<int64_t>(shape.back(), 0, 1 << 20);
  }

  static int64_t resized_bytes(const Row& row) {
    const auto side = [](int64_t value) { return std::clamp<int64_t>(value, 1, 1 << 20); };
    const int64_t pixels =
        std::min(side(row.ofm.n) * side(row.ofm.h), kLargest >> 20) * side(row.ofm.w);
    return bytes_of(pixels, (side(row.ofm.c) + 15) / 16 * 16, row.ofm_type);
  }

  // To a row that is done in the same one: the map between never exists.
  bool passes_on(size_t index) const {
    return index + 1 < result_.leaders.size() &&
           result_.leaders[index + 1] == result_.leaders[index];
  }

  void write(size_t index) {
    const Row& row = lowering_.rows[index];
    const auto i = static_cast<int32_t>(index);
    int32_t& written = result_.rows[index].written;
    if (row.ofm_tensors.empty()) {
      const auto side = [](int64_t value) { return std::clamp<int64_t>(value, 1, 1 << 20); };
      const int64_t pixels =
          std::min(side(row.ofm.n) * side(row.ofm.h), kLargest >> 20) * side(row.ofm.w);
      const int64_t channels = side(row.ofm.c);
      const int64_t stored =
          is_u55() ? ethos_stored_between(row, channels) : (channels + 15) / 16 * 16;
      written = add_map(sized(pixels, channels, stored, row.ofm_type));
    } else {
      written = map_of(row.ofm_tensors.front());
    }
    if (written < 0 || passes_on(index)) return;
    use(written, result_.leaders[index]);
    use(written, i);
    ++at(written).writers;
    // A resize writes whole bricks of few channels, too, on U55.
    if (row.ofm_tensors.empty() || row.placement != Placement::kNpu) return;
    if (row.kind == RowKind::kResize && row.ofm.c > 1 && is_u55())
      at(written).bytes = std::max(at(written).bytes, resized_bytes(row));
    // The four phases of a resize write single pixels.
    if (row.op_kind == OpKind::kResizeBilinear && row.kind == RowKind::kDepthwiseConv2D)
      at(written).linear = true;
  }

  const Subgraph& subgraph_;
  const Lowering& lowering_;
  std::vector<int32_t> of_tensor_;
  EthosMaps result_;
};

}  // namespace

bool ethos_flattens(const Row& row) {
  constexpr int64_t kFew = 8;
  const bool elementwise = ethos_kernel(row) == EthosKernel::kElementwise;
  const bool alone = row.kind == RowKind::kActivation || row.kind == RowKind::kLut;
  if (row.ofm.c >= kFew || !(elementwise || alone)) return false;
  return !row.has_ifm2 || row.ifm2.elements() <= 1 || row.ifm2.elements() == row.ofm.elements();
}

EthosMaps ethos_maps(const Graph& graph, const Lowering& lowering,
                     const std::vector<uint8_t>& chained) {
  return MapTable(graph, lowering, chained).run();
}

}  // namespace edgesage
