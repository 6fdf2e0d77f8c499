#include "src/kernels/target.h"

#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include "src/base/text.h"

#include "src/kernels/targets_inl.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/target.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace edgesage::kernels {
namespace HWY_NAMESPACE {

const char* Name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace edgesage::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgesage::kernels {

HWY_EXPORT(Name);

namespace {

// Highway chooses among what it believes the CPU to have; 0 lets it look again.
void pretend_only(int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace

const char* target_name() { return HWY_DYNAMIC_DISPATCH(Name)(); }

std::vector<std::string> target_names() {
  const int64_t believed = hwy::SupportedTargets();
  hwy::SetSupportedTargetsForTest(0);
  std::vector<std::string> names;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets())
    names.emplace_back(hwy::TargetName(target));
  hwy::SetSupportedTargetsForTest(believed);
  return names;
}

Status use_target(std::string_view name) {
  pretend_only(0);
  if (name.empty()) return {};
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (name != hwy::TargetName(target)) continue;
    pretend_only(target);
    return {};
  }
  return make_error(ErrorCode::kInvalidArgument, "instruction set",
                    std::string(name) + " given, this CPU has " + join(target_names(), ", "));
}

Status use_target_of_environment() {
  const char* name = std::getenv("EDGESAGE_TARGET");
  return name == nullptr ? Status{} : use_target(name);
}

}  // namespace edgesage::kernels
#endif  // HWY_ONCE
