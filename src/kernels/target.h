// Which instruction set the kernels run on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"

namespace edgesage::kernels {

// Name of the instruction set chosen for this process, as Highway spells it ("AVX3", "AVX2", ...).
[[nodiscard]] const char* target_name();

// Names of those that were built and that this CPU has, best first.
[[nodiscard]] std::vector<std::string> available_targets();

// From now on the kernels of the whole process run on this one; empty: on the best again. For tests
// and measurements: weights that were packed before must be packed anew, and no kernel may run
// meanwhile. kInvalidArgument for a name that is not available, with those that are.
Status force_target(std::string_view name);

}  // namespace edgesage::kernels
