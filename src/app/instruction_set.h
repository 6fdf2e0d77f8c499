// Which instruction set predicting and training run on.
#pragma once

#include <string>
#include <vector>

#include "edgesage/result.h"

namespace edgesage::app {

// The one that the variable EDGESAGE_TARGET names, or the best that this CPU has. Before threads
// start. kInvalidArgument for one that it does not have.
Status choose_instruction_set();

struct InstructionSets {
  std::string chosen;
  std::vector<std::string> available;  // best first
};
[[nodiscard]] InstructionSets instruction_sets();

}  // namespace edgesage::app
