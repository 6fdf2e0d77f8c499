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

// block0_e ... block6_se in their order, which is a code of the space.
Result<std::string> blocks_of(const CsvTable& table, size_t row) {
  std::string code;
  for (int block = 0; block < 7; ++block) {
    for (const char* part : {"e", "k", "l", "se"}) {
      EDGESAGE_ASSIGN_OR_RETURN(const std::string cell,
                                cell_of(table, row, fmt::format("block{}_{}", block, part)));
      code += fmt::format("{}{}", code.empty() ? "" : "-", cell);
    }
  }
  return code;
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
      {.id = "ofa",
       .description = "Once-for-All MobileNetV3 on two GPUs (HELP, Lee et al., NeurIPS 2021)",
       .file = "ofa_mbv3.csv",
       .space = "ofa-mobilenet-v3",
       .boards = {{"titan_rtx_latency_ms", "titan-rtx"}, {"v100_latency_ms", "v100"}},
       .code = from_column("arch_json")},
      {.id = "fbnet",
       .description = "FBNet on a GPU, a server CPU and a phone (HELP)",
       .file = "fbnet.csv",
       .space = "fbnet",
       .boards = {{"2080ti_latency_ms", "2080ti"},
                  {"gold_6226_latency_ms", "gold-6226"},
                  {"samsung_s7_latency_ms", "samsung-s7"}},
       .code = from_column("op_idx_list")},
      {.id = "accel",
       .description = "MnasNet-like networks on an FPGA (Accel-NASBench, Ahmad et al., DAC 2024)",
       .file = "accel_nasbench.csv",
       .space = "mnasnet-accel",
       .boards = {{"zcu102_latency_ms", "zcu102"}},
       .code = blocks_of},
  };
}

}  // namespace

std::span<const PublishedCodes> published_codes() {
  static const std::vector<PublishedCodes> kTable = make_table();
  return kTable;
}

}  // namespace edgesage
