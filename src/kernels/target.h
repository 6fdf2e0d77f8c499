// Which instruction set the kernels run on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"

namespace edgesage::kernels {

// Name of the instruction set chosen for this process, as Highway spells it ("AVX3", "AVX2", ...).
// Without use_target it is the best that the CPU has.
[[nodiscard]] const char* target_name();

// Those that were built and that this CPU has, best first.
[[nodiscard]] std::vector<std::string> target_names();

// Runs all kernels on this one from now on; an empty name chooses the best again. kInvalidArgument
// for one that is not in target_names(). Not thread-safe: call it before kernels run on other
// threads.
Status use_target(std::string_view name);

// use_target of the variable EDGESAGE_TARGET, if there is one.
Status use_target_of_environment();

}  // namespace edgesage::kernels
