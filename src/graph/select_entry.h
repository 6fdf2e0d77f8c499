// Which entry of a model with several is looked at.
#pragma once

#include <string_view>

#include "edgesage/result.h"
#include "src/graph/graph.h"

namespace edgesage {

// Makes the subgraph of the signature the main one: the two change places, and what refers to
// them (control flow, signatures) follows. kInvalidArgument, listing the signatures there are, for
// another name.
[[nodiscard]] Status select_signature(Graph& graph, std::string_view key);

// A warning where several subgraphs have signatures: the first is looked at, the others are named.
void warn_of_entries(Graph& graph);

// True for attributes that hold the index (or the indexes) of subgraphs.
[[nodiscard]] bool names_subgraphs(const Operator& op, std::string_view attribute);

// Sets the attribute `trip_count` of every loop (WHILE, STABLEHLO_WHILE) that has none.
void set_trip_counts(Graph& graph, int64_t count);

}  // namespace edgesage
