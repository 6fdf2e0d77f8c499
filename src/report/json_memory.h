// Memory plans as JSON.
#pragma once

#include "edgesage/memory.h"
#include "src/base/json.h"

namespace edgesage::report {

// null where there is no plan. The keys are in docs/json.md.
[[nodiscard]] Json arena_size_json(const ArenaSize& size);
[[nodiscard]] Json arena_json(const ArenaPlan& plan);

// null where there is none.
[[nodiscard]] Json delegated_json(const DelegatedMemory& memory);

}  // namespace edgesage::report
