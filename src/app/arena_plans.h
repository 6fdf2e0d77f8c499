// The plans of runtimes' memory planners as public data.
#pragma once

#include <string>

#include "edgesage/memory.h"
#include "edgesage/result.h"
#include "src/analysis/tflm_kernels.h"
#include "src/graph/graph.h"
#include "src/lower/rows.h"

namespace edgesage::app {

// What LiteRT's arena takes with its built-in kernels; `reason` says why where there is no figure.
[[nodiscard]] ArenaSize litert_arena_size(const Graph& graph);

// The same with every block, and what would lower it (planned again, so it costs more).
[[nodiscard]] ArenaPlan litert_arena_plan(const Graph& graph);

// The build of TensorFlow Lite Micro that `--abi` and `--kernels` name: 32 or 64, and "reference"
// or, on 32 bits, "cmsis-nn" (cores with DSP instructions), "cmsis-nn-mve", "cmsis-nn-plain".
// kInvalidArgument for anything else.
[[nodiscard]] Result<TflmBuild> tflm_build(int32_t abi, const std::string& kernels);

// TensorFlow Lite Micro's plan; `size.reason` says why where there is none. Entries are given for
// models of one subgraph.
[[nodiscard]] ArenaPlan tflm_arena_plan(const Graph& graph, TflmBuild build);

// LiteRT's memory with XNNPACK, which `lowering` must be for; empty where there is no plan.
[[nodiscard]] DelegatedMemory litert_xnnpack_memory(const Graph& graph, const Lowering& lowering);

// Half width of the interval around its total that holds the truth with probability `level`, as a
// share of it: what held on 100 networks that nothing was fitted to.
[[nodiscard]] double litert_xnnpack_half_width(double level);

}  // namespace edgesage::app
