// The plans of runtimes' memory planners as public data.
#pragma once

#include "edgesage/memory.h"
#include "edgesage/result.h"
#include "src/graph/graph.h"
#include "src/lower/rows.h"

namespace edgesage::app {

// What LiteRT's arena takes with its built-in kernels; `reason` says why where there is no figure.
[[nodiscard]] ArenaSize litert_arena_size(const Graph& graph);

// The same with every block, and what would lower it (planned again, so it costs more).
[[nodiscard]] ArenaPlan litert_arena_plan(const Graph& graph);

// kInvalidArgument for anything but 32 and 64.
[[nodiscard]] Status check_abi(int32_t abi);

// TensorFlow Lite Micro's plan for a 32-bit microcontroller or for its Python package (64);
// `size.reason` says why where there is none. Entries are given for models of one subgraph.
[[nodiscard]] ArenaPlan tflm_arena_plan(const Graph& graph, int32_t abi);

// LiteRT's memory with XNNPACK, which `lowering` must be for; empty where there is no plan.
[[nodiscard]] DelegatedMemory litert_xnnpack_memory(const Graph& graph, const Lowering& lowering);

// Half width of the interval around its total that holds the truth with probability `level`, as a
// share of it: what held on 100 networks that nothing was fitted to.
[[nodiscard]] double litert_xnnpack_half_width(double level);

}  // namespace edgesage::app
