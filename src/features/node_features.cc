// The table of node features. Sizes enter as log(1 + x), so that a correction learnt on small
// layers carries over to large ones; what rounding to a hardware tile wastes enters as the log of
// the ratio, which is zero where nothing is wasted.
#include <algorithm>
#include <cmath>

#include "src/features/feature_table.h"

namespace edgesage {
namespace {

double log1(double value) { return value > 0 ? std::log1p(value) : 0.0; }
double log1(int64_t value) { return log1(static_cast<double>(value)); }

double tile_waste(int64_t size, int64_t tile) {
  if (size <= 0) return 0;
  const int64_t rounded = (size + tile - 1) / tile * tile;
  return std::log(static_cast<double>(rounded) / static_cast<double>(size));
}

double flag(bool value) { return value ? 1.0 : 0.0; }

bool is_lut(OpKind kind) {
  return kind == OpKind::kLogistic || kind == OpKind::kTanh || kind == OpKind::kHardSwish ||
         kind == OpKind::kLeakyRelu || kind == OpKind::kElu || kind == OpKind::kGelu;
}

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

double largest_term(const RowCycles& c) { return std::max({c.npu, c.sram, c.dram, c.flash}); }

double type_width(DataType type) { return bits_per_element(type) / 8.0; }

using R = const Row&;
using F = const RowFacts&;
using G = const LoweringFacts&;

constexpr bool kLayer = true;

constexpr NodeFeature kTable[] = {
    {"log_ifm_h", [](R r, F, G) { return log1(r.ifm.h); }, kLayer},
    {"log_ifm_w", [](R r, F, G) { return log1(r.ifm.w); }, kLayer},
    {"log_ifm_c", [](R r, F, G) { return log1(r.ifm.c); }, kLayer},
    {"log_ofm_h", [](R r, F, G) { return log1(r.ofm.h); }, kLayer},
    {"log_ofm_w", [](R r, F, G) { return log1(r.ofm.w); }, kLayer},
    {"log_ofm_c", [](R r, F, G) { return log1(r.ofm.c); }, kLayer},
    {"log_batch", [](R r, F, G) { return log1(r.ofm.n - 1); }, kLayer},
    {"has_ifm2", [](R r, F, G) { return flag(r.has_ifm2); }, kLayer},
    {"ifm2_constant", [](R r, F, G) { return flag(r.has_ifm2 && r.ifm2_constant); }, kLayer},
    {"ifm2_broadcast",
     [](R r, F, G) { return flag(r.has_ifm2 && r.ifm2.elements() != r.ofm.elements()); }, kLayer},
    {"log_kernel_h", [](R r, F, G) { return log1(int64_t{r.kernel_h} - 1); }, kLayer},
    {"log_kernel_w", [](R r, F, G) { return log1(int64_t{r.kernel_w} - 1); }, kLayer},
    {"log_kernel_area", [](R r, F, G) { return log1(int64_t{r.kernel_h} * r.kernel_w - 1); },
     kLayer},
    {"kernel_above_9", [](R r, F, G) { return flag(r.kernel_h * r.kernel_w > 9); }, kLayer},
    {"kernel_above_25", [](R r, F, G) { return flag(r.kernel_h * r.kernel_w > 25); }, kLayer},
    {"stride_h", [](R r, F, G) { return static_cast<double>(std::min(r.stride_h, 4)); }, kLayer},
    {"stride_w", [](R r, F, G) { return static_cast<double>(std::min(r.stride_w, 4)); }, kLayer},
    {"dilated", [](R r, F, G) { return flag(r.dilation_h > 1 || r.dilation_w > 1); }, kLayer},
    {"log_groups", [](R r, F, G) { return log1(r.groups - 1); }, kLayer},
    {"padding_share",
     [](R r, F, G) {
       const double padded = static_cast<double>(r.ifm.h + r.pad_top + r.pad_bottom) *
                             static_cast<double>(r.ifm.w + r.pad_left + r.pad_right);
       return 1.0 - share(static_cast<double>(r.ifm.h * r.ifm.w), padded);
     },
     kLayer},
    {"log_macs", [](R, F f, G) { return log1(f.cost.macs); }, kLayer},
    {"log_ifm_bytes", [](R, F f, G) { return log1(f.cost.ifm_bytes); }, kLayer},
    {"log_ofm_bytes", [](R, F f, G) { return log1(f.cost.ofm_bytes); }, kLayer},
    {"log_weights_bytes", [](R, F f, G) { return log1(f.cost.weights_bytes); }, kLayer},
    {"log_intensity", [](R, F f, G) { return log1(f.cost.intensity()); }, kLayer},
    {"waste_ifm_c_8", [](R r, F, G) { return tile_waste(r.ifm.c, 8); }, kLayer},
    {"waste_ifm_c_16", [](R r, F, G) { return tile_waste(r.ifm.c, 16); }, kLayer},
    {"waste_ifm_c_32", [](R r, F, G) { return tile_waste(r.ifm.c, 32); }, kLayer},
    {"waste_ofm_c_8", [](R r, F, G) { return tile_waste(r.ofm.c, 8); }, kLayer},
    {"waste_ofm_c_16", [](R r, F, G) { return tile_waste(r.ofm.c, 16); }, kLayer},
    {"waste_ofm_c_32", [](R r, F, G) { return tile_waste(r.ofm.c, 32); }, kLayer},
    {"waste_ofm_h_2", [](R r, F, G) { return tile_waste(r.ofm.h, 2); }, kLayer},
    {"waste_ofm_h_8", [](R r, F, G) { return tile_waste(r.ofm.h, 8); }, kLayer},
    {"waste_ofm_w_2", [](R r, F, G) { return tile_waste(r.ofm.w, 2); }, kLayer},
    {"waste_ofm_w_8", [](R r, F, G) { return tile_waste(r.ofm.w, 8); }, kLayer},
    {"waste_ofm_w_16", [](R r, F, G) { return tile_waste(r.ofm.w, 16); }, kLayer},
    {"ifm_type_bytes", [](R r, F, G) { return type_width(r.ifm_type); }, kLayer},
    {"ofm_type_bytes", [](R r, F, G) { return type_width(r.ofm_type); }, kLayer},
    {"float", [](R r, F, G) { return flag(r.ifm_type == DataType::kFloat32); }, kLayer},
    {"on_npu", [](R r, F, G) { return flag(r.placement == Placement::kNpu); }, kLayer},
    {"on_delegate", [](R r, F, G) { return flag(r.placement == Placement::kDelegate); }, kLayer},
    {"on_cpu", [](R r, F, G) { return flag(r.placement == Placement::kCpu); }, kLayer},
    {"starts_partition", [](R, F f, G) { return flag(f.starts_partition); }},
    {"activation_any", [](R r, F, G) { return flag(r.activation != OpKind::kUnknown); }, kLayer},
    {"activation_lut", [](R r, F, G) { return flag(is_lut(r.activation)); }, kLayer},
    {"invented_weights", [](R r, F, G) { return flag(r.invented_weights); }, kLayer},
    {"log_fused", [](R r, F, G) { return log1(static_cast<int64_t>(r.fused.size())); }, kLayer},
    {"log_producers", [](R, F f, G) { return log1(int64_t{f.producers}); }},
    {"log_consumers", [](R, F f, G) { return log1(int64_t{f.consumers}); }},
    {"reads_graph_input", [](R, F f, G) { return flag(f.producers == 0); }},
    {"writes_graph_output", [](R, F f, G) { return flag(f.consumers == 0); }},
    {"weights_zero_fraction", [](R, F f, G) { return f.weights.zero_fraction; }, kLayer},
    {"weights_log_distinct", [](R, F f, G) { return log1(f.weights.distinct); }, kLayer},
    {"weights_entropy_bits", [](R, F f, G) { return f.weights.entropy_bits; }, kLayer},
    {"weights_encoded_bits", [](R, F f, G) { return f.weights.encoded_bits_estimate; }, kLayer},
    {"log_encoded_weights_bytes", [](R, F f, G) { return log1(f.encoded_weights_bytes); }, kLayer},
    {"log_weight_buffer_bytes", [](R, F f, G) { return log1(f.cycles.weight_buffer_bytes); }},
    {"log_live_bytes", [](R, F f, G) { return log1(f.live_bytes); }},
    {"live_share_of_peak", [](R, F f, G g) { return share(f.live_bytes, g.peak_live_bytes); }},
    {"other_live_share",
     [](R, F f, G) {
       return share(std::max(0.0, f.live_bytes - f.ifm_stored_bytes - f.ofm_stored_bytes),
                    f.live_bytes);
     }},
    {"log_cycles_npu", [](R, F f, G) { return log1(f.cycles.npu); }},
    {"log_cycles_sram", [](R, F f, G) { return log1(f.cycles.sram); }},
    {"log_cycles_dram", [](R, F f, G) { return log1(f.cycles.dram); }},
    {"log_cycles_flash", [](R, F f, G) { return log1(f.cycles.flash); }},
    {"npu_of_largest", [](R, F f, G) { return share(f.cycles.npu, largest_term(f.cycles)); }},
    {"sram_of_largest", [](R, F f, G) { return share(f.cycles.sram, largest_term(f.cycles)); }},
    {"dram_of_largest", [](R, F f, G) { return share(f.cycles.dram, largest_term(f.cycles)); }},
    {"flash_of_largest", [](R, F f, G) { return share(f.cycles.flash, largest_term(f.cycles)); }},
    {"log_cpu_ns", [](R, F f, G) { return log1(f.cpu_ns); }},
    {"log_sram_traffic_bytes", [](R, F f, G) { return log1(f.cycles.sram_bytes); }},
    {"log_dram_traffic_bytes", [](R, F f, G) { return log1(f.cycles.dram_bytes); }},
    {"log_flash_traffic_bytes", [](R, F f, G) { return log1(f.cycles.flash_bytes); }},
    {"log_sram_live_bytes", [](R, F f, G) { return log1(f.cycles.sram_live_bytes); }},
    {"log_dram_live_bytes", [](R, F f, G) { return log1(f.cycles.dram_live_bytes); }},
    {"log_constant_bytes", [](R, F f, G) { return log1(f.cycles.constant_bytes); }},
    {"staged_share",
     [](R, F f,
        G) { return share(f.cycles.sram_bytes, f.cycles.sram_bytes + f.cycles.dram_bytes); }},
    {"sram_live_share_of_peak",
     [](R, F f, G g) { return share(f.cycles.sram_live_bytes, g.peak_sram_live_bytes); }},
};

}  // namespace

std::span<const NodeFeature> node_features() { return kTable; }

}  // namespace edgesage
