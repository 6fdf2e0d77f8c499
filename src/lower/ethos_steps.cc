#include "src/lower/ethos_steps.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace edgesage::ethos {

bool is_u85(const RowBuilder& builder) { return builder.target().kind == TargetKind::kEthosU85; }

int32_t to_int32(int64_t value) {
  return static_cast<int32_t>(std::clamp<int64_t>(value, 1, std::numeric_limits<int32_t>::max()));
}

Row opening(const Row& whole, RowKind kind, Shape4 ifm, Shape4 ofm) {
  Row row = whole;
  row.kind = kind;
  row.ifm = ifm;
  row.ofm = ofm;
  row.activation = OpKind::kUnknown;
  row.has_ifm2 = false;
  row.ifm2_constant = false;
  row.ofm_tensors.clear();
  return row;
}

Row closing(const Row& whole, RowKind kind, Shape4 ifm, std::vector<int32_t> inputs) {
  Row row = whole;
  row.kind = kind;
  row.ifm = ifm;
  row.ifm_type = DataType::kInt32;
  row.has_ifm2 = false;
  row.ifm2_constant = false;
  row.weights = row.bias = kNoTensor;
  row.invented_weights = false;
  row.kernel_h = row.kernel_w = 1;
  row.ifm_tensors.clear();
  row.inputs = std::move(inputs);
  std::ranges::sort(row.inputs);
  return row;
}

int32_t add_spread(RowBuilder& builder, const Row& whole, Shape4 shape,
                   std::vector<int32_t> inputs) {
  const int32_t row = builder.add_inner(whole, RowKind::kAdd, shape, shape, std::move(inputs));
  builder.row(row).spreads = true;
  return row;
}

}  // namespace edgesage::ethos
