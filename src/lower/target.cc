#include "src/lower/target.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <vector>

#include "src/base/text.h"

namespace edgesage {
namespace {

struct KnownTarget {
  std::string_view name;
  TargetKind kind;
  int32_t macs_per_cycle;
};

constexpr std::array kTargets = {
    KnownTarget{"ethos-u55-32", TargetKind::kEthosU55, 32},
    KnownTarget{"ethos-u55-64", TargetKind::kEthosU55, 64},
    KnownTarget{"ethos-u55-128", TargetKind::kEthosU55, 128},
    KnownTarget{"ethos-u55-256", TargetKind::kEthosU55, 256},
    KnownTarget{"ethos-u65-256", TargetKind::kEthosU65, 256},
    KnownTarget{"ethos-u65-512", TargetKind::kEthosU65, 512},
    KnownTarget{"ethos-u85-128", TargetKind::kEthosU85, 128},
    KnownTarget{"ethos-u85-256", TargetKind::kEthosU85, 256},
    KnownTarget{"ethos-u85-512", TargetKind::kEthosU85, 512},
    KnownTarget{"ethos-u85-1024", TargetKind::kEthosU85, 1024},
    KnownTarget{"ethos-u85-2048", TargetKind::kEthosU85, 2048},
    KnownTarget{"litert-xnnpack", TargetKind::kLitertXnnpack, 0},
    KnownTarget{"edge-tpu-like", TargetKind::kEdgeTpuLike, 0},
    KnownTarget{"generic", TargetKind::kGeneric, 0},
};

}  // namespace

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const KnownTarget& known : kTargets) names.emplace_back(known.name);
  return names;
}

Result<Target> target_from_name(std::string_view name) {
  for (const KnownTarget& known : kTargets)
    if (known.name == name) return Target{known.kind, known.macs_per_cycle, std::string(name)};
  const std::vector<std::string> names = target_names();
  const std::string_view near = closest(name, names);
  return make_error(ErrorCode::kInvalidArgument, "target",
                    fmt::format("'{}' is not a target; allowed are {}{}", name, join(names, ", "),
                                near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
}

}  // namespace edgesage
