#include "src/nn/config.h"

#include <fmt/format.h>

#include <cmath>

namespace edgesage::nn {
namespace {

constexpr int32_t kWidest = 4096;

Status check_range(const char* field, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return {};
  return make_error(ErrorCode::kInvalidArgument, field,
                    fmt::format("{} given, {} to {} allowed", value, low, high));
}

Status check_quantity(const Quantity& quantity) {
  if (quantity.name.empty())
    return make_error(ErrorCode::kInvalidArgument, "quantities", "a quantity has no name");
  if (quantity.node_labels && quantity.read_out == ReadOut::kMaxPlusSum)
    return make_error(ErrorCode::kInvalidArgument, quantity.name,
                      "operators cannot be labelled where a sum and a maximum are added; use one "
                      "of them or drop node_labels");
  if (!std::isfinite(quantity.overhead_scale) || quantity.overhead_scale < 0)
    return make_error(
        ErrorCode::kInvalidArgument, quantity.name,
        fmt::format("overhead_scale {} given, 0 or more allowed", quantity.overhead_scale));
  return {};
}

}  // namespace

int32_t columns_of(ReadOut read_out) { return read_out == ReadOut::kMaxPlusSum ? 2 : 1; }

int32_t ModelConfig::columns() const { return first_column(quantity_count()); }

int32_t ModelConfig::first_column(int32_t quantity) const {
  int32_t column = 0;
  for (int32_t q = 0; q < quantity; ++q)
    column += columns_of(quantities[static_cast<size_t>(q)].read_out);
  return column;
}

bool ModelConfig::is_max_column(int32_t column) const {
  for (const Quantity& quantity : quantities) {
    if (column == 0) return quantity.read_out != ReadOut::kSum;
    column -= columns_of(quantity.read_out);
    if (column < 0) return false;
  }
  return false;
}

Status validate(const ModelConfig& config) {
  EDGESAGE_RETURN_IF_ERROR(check_range("features", config.features, 1, kWidest));
  EDGESAGE_RETURN_IF_ERROR(check_range("kinds", config.kinds, 1, 1 << 16));
  EDGESAGE_RETURN_IF_ERROR(check_range("embedding", config.embedding, 1, kWidest));
  EDGESAGE_RETURN_IF_ERROR(check_range("globals", config.globals, 0, kWidest));
  EDGESAGE_RETURN_IF_ERROR(check_range("hidden", config.hidden, 2, kWidest));
  EDGESAGE_RETURN_IF_ERROR(check_range("layers", config.layers, 1, 64));
  EDGESAGE_RETURN_IF_ERROR(check_range("quantities", config.quantity_count(), 1, 256));
  for (const Quantity& quantity : config.quantities)
    EDGESAGE_RETURN_IF_ERROR(check_quantity(quantity));
  if (!(config.dropout >= 0 && config.dropout < 1))
    return make_error(ErrorCode::kInvalidArgument, "dropout",
                      fmt::format("{} given, at least 0 and below 1 allowed", config.dropout));
  if (!(config.max_power >= 1 && config.max_power <= 1000))
    return make_error(ErrorCode::kInvalidArgument, "max_power",
                      fmt::format("{} given, 1 to 1000 allowed", config.max_power));
  return {};
}

}  // namespace edgesage::nn
