// Data-parallel loops whose results do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <functional>

namespace edgesage {

// Calls body(i) for every i in [0, count), each exactly once, on up to `threads` threads (0: as
// many as the machine has). Bodies must not depend on each other; order is not defined. Returns
// when all are done. An exception in a body is rethrown here after the others have ended.
void parallel_for(int64_t count, int threads, const std::function<void(int64_t)>& body);

[[nodiscard]] int hardware_threads();

}  // namespace edgesage
