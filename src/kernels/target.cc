#include "src/kernels/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

const char* target_name() { return HWY_DYNAMIC_DISPATCH(Name)(); }

std::vector<std::string> available_targets() {
  std::vector<std::string> names;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets())
    names.emplace_back(hwy::TargetName(target));
  return names;
}

Status force_target(std::string_view name) {
  const auto choose = [](int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);  // 0: what the CPU has
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  };
  if (name.empty()) {
    choose(0);
    return {};
  }
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (name != hwy::TargetName(target)) continue;
    choose(target);
    return {};
  }
  choose(0);
  return make_error(ErrorCode::kInvalidArgument, "instruction set",
                    fmt::format("{} given, {} allowed on this computer", name,
                                fmt::join(available_targets(), ", ")));
}

}  // namespace edgesage::kernels
#endif  // HWY_ONCE
