// The processes that this one was started with by mpirun.
#pragma once

#include <memory>

#include "src/base/ranks.h"

namespace edgesage::cli {

// Null in a program without MPI, and for a process alone. Once a program; the processes part when
// what is returned is destroyed.
[[nodiscard]] std::unique_ptr<Ranks> join_ranks();

}  // namespace edgesage::cli
