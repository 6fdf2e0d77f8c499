// Which instruction set the kernels run on.
#pragma once

namespace edgesage::kernels {

// Name of the instruction set chosen for this process, as Highway spells it ("AVX3", "AVX2", ...).
[[nodiscard]] const char* target_name();

}  // namespace edgesage::kernels
