// What a Graph can be lowered for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"

namespace edgesage {

enum class TargetKind : uint8_t {
  kEthosU55,
  kEthosU65,
  kEthosU85,
  kLitertXnnpack,  // LiteRT on a CPU with the XNNPACK delegate, the runtime's default
  kGeneric,        // any device that nothing is known about: one row an operator
  kEdgeTpuLike,    // ZigZag's machine like the Edge TPU, one row an operator
};

struct Target {
  TargetKind kind = TargetKind::kLitertXnnpack;
  int32_t macs_per_cycle = 0;  // Ethos-U: 32 ... 2048
  std::string name;            // "ethos-u55-256", "litert-xnnpack", "edge-tpu-like", "generic"

  [[nodiscard]] bool is_ethos() const {
    return kind == TargetKind::kEthosU55 || kind == TargetKind::kEthosU65 ||
           kind == TargetKind::kEthosU85;
  }
  // An accelerator whose figures leave out what falls back to the CPU.
  [[nodiscard]] bool is_npu() const { return is_ethos() || kind == TargetKind::kEdgeTpuLike; }
};

// Every name that target_from_name() knows, in a fixed order.
[[nodiscard]] std::vector<std::string> target_names();

// "ethos-u55-{32,64,128,256}", "ethos-u65-{256,512}", "ethos-u85-{128,256,512,1024,2048}",
// "litert-xnnpack", "edge-tpu-like", "generic". Unknown names are kInvalidArgument, with the list.
[[nodiscard]] Result<Target> target_from_name(std::string_view name);

}  // namespace edgesage
