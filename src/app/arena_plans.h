// The plans of runtimes' memory planners as public data.
#pragma once

#include "edgesage/memory.h"
#include "src/graph/graph.h"

namespace edgesage::app {

// LiteRT's plan with its built-in kernels; `size.reason` says why where there is none.
[[nodiscard]] ArenaPlan litert_arena_plan(const Graph& graph);

}  // namespace edgesage::app
