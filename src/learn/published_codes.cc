#include "src/learn/published_codes.h"

#include <fmt/format.h>

#include "src/spaces/nas_bench_201.h"

namespace edgesage {
namespace {

Result<std::string> cell_of(const CsvTable& table, size_t row, std::string_view name) {
  if (const auto column = table.column(name)) return table.rows[row][*column];
  return make_error(ErrorCode::kBadStore, "", fmt::format("there is no column {}", name));
}

std::function<Result<std::string>(const CsvTable&, size_t)> from_column(std::string_view name) {
  return [name](const CsvTable& table, size_t row) { return cell_of(table, row, name); };
}

std::string isomorphism_class(const CsvTable&, size_t, const std::string& code) {
  const auto cell = NasBench201Cell::parse(code);
  return cell ? cell->isomorphism_class() : code;
}

// Latencies below this are of networks that the runtime folded to a constant (the data's notes).
constexpr double kPi5ResolutionMs = 0.05;

std::vector<PublishedCodes> make_table() {
  constexpr auto kLatency = Quantity::kLatencyMs;
  constexpr auto kEnergy = Quantity::kEnergyMj;
  return {
      {.id = "latbench",
       .description = "NAS-Bench-201 cells on six devices (BRP-NAS, Dudziak et al., NeurIPS 2020)",
       .file = "latbench.csv",
       .space = "nas-bench-201",
       .boards = {{"desktop_cpu_i7_7820x_fp32_latency_ms", "desktop-cpu"},
                  {"desktop_gpu_1080ti_fp32_latency_ms", "desktop-gpu"},
                  {"embedded_gpu_jetson_nano_fp16_latency_ms", "embedded-gpu"},
                  {"embedded_tpu_edge_tpu_int8_latency_ms", "embedded-tpu"},
                  {"mobile_gpu_adreno_612_int8_latency_ms", "mobile-gpu"},
                  {"mobile_dsp_hexagon_690_int8_latency_ms", "mobile-dsp"}},
       .code = from_column("arch_str"),
       .group = isomorphism_class},
      {.id = "pi5-32",
       .description = "NAS-Bench-201 cells at 32x32 by LiteRT on a Raspberry Pi 5 and a Pixel",
       .file = "nb201_pi5_energy.csv",
       .space = "nas-bench-201",
       .boards = {{"pi5_litert_32x32_latency_ms", "raspberry-pi-5", kLatency, 1, kPi5ResolutionMs},
                  {"pixel_litert_32x32_latency_ms", "pixel", kLatency, 1, kPi5ResolutionMs},
                  {"pi5_litert_32x32_energy_mj", "raspberry-pi-5", kEnergy}},
       .code = from_column("arch_str"),
       .group = isomorphism_class},
      {.id = "pi5-88",
       .description = "NAS-Bench-201 cells at 88x88 by LiteRT on a Raspberry Pi 5",
       .file = "nb201_pi5_energy.csv",
       .space = "nas-bench-201",
       .resolution = 88,
       .boards = {{"pi5_litert_88x88_latency_ms", "raspberry-pi-5", kLatency, 1, kPi5ResolutionMs},
                  {"pi5_litert_88x88_energy_mj", "raspberry-pi-5", kEnergy}},
       .code = from_column("arch_str"),
       .group = isomorphism_class},
  };
}

}  // namespace

std::span<const PublishedCodes> published_codes() {
  static const std::vector<PublishedCodes> kTable = make_table();
  return kTable;
}

}  // namespace edgesage
