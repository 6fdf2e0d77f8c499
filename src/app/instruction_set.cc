#include "src/app/instruction_set.h"

#include "src/kernels/target.h"

namespace edgesage::app {

Status choose_instruction_set() { return kernels::use_target_of_environment(); }

InstructionSets instruction_sets() { return {kernels::target_name(), kernels::target_names()}; }

}  // namespace edgesage::app
