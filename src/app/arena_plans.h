// The plans of runtimes' memory planners as public data.
#pragma once

#include "edgesage/memory.h"
#include "edgesage/result.h"
#include "src/graph/graph.h"

namespace edgesage::app {

// LiteRT's plan with its built-in kernels; `size.reason` says why where there is none.
[[nodiscard]] ArenaPlan litert_arena_plan(const Graph& graph);

// kInvalidArgument for anything but 32 and 64.
[[nodiscard]] Status check_abi(int32_t abi);

// TensorFlow Lite Micro's plan for a 32-bit microcontroller or for its Python package (64);
// `size.reason` says why where there is none. Entries are given for models of one subgraph.
[[nodiscard]] ArenaPlan tflm_arena_plan(const Graph& graph, int32_t abi);

}  // namespace edgesage::app
