#include <array>
#include <limits>

#include "src/lower/operator_shapes.h"
#include "src/lower/rows.h"

namespace edgesage {
namespace {

constexpr std::array<std::string_view, static_cast<size_t>(RowKind::kCount)> kRowKindNames = {
    "other",   "conv_2d",      "depthwise_conv_2d", "transpose_conv", "fully_connected",
    "mat_mul", "average_pool", "max_pool",          "reduce",         "add",
    "sub",     "mul",          "min_max",           "elementwise",    "activation",
    "lut",     "softmax",      "reshape",           "copy",           "pad",
    "resize",  "transpose",    "depth_to_space",    "quantize",       "gather",
    "arg_max", "recurrent",    "control",           "shift",
};

}  // namespace

std::string_view row_kind_name(RowKind kind) {
  const auto index = static_cast<size_t>(kind);
  return index < kRowKindNames.size() ? kRowKindNames[index] : std::string_view("unknown");
}

std::string_view placement_name(Placement placement) {
  switch (placement) {
    case Placement::kNpu:
      return "npu";
    case Placement::kDelegate:
      return "delegate";
    case Placement::kCpu:
      return "cpu";
    case Placement::kFolded:
      return "folded";
  }
  return "unknown";
}

int64_t Shape4::elements() const { return saturating_product(std::array{n, h, w, c}); }

}  // namespace edgesage
