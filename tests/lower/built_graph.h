// Graphs for tests of lowerings, made by GraphBuilder.
#pragma once

#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "src/graph/builder.h"

namespace edgesage {

inline GraphBuilder::Options net_of(DataType type) {
  GraphBuilder::Options options;
  options.type = type;
  return options;
}
inline GraphBuilder::Options int8_net() { return net_of(DataType::kInt8); }
inline GraphBuilder::Options float_net() { return net_of(DataType::kFloat32); }

inline Graph finish(GraphBuilder& net, const std::vector<GraphBuilder::Id>& outputs) {
  Result<Graph> graph = net.finish(outputs);
  EXPECT_TRUE(graph) << graph.error().to_string();
  return graph ? std::move(*graph) : Graph();
}

}  // namespace edgesage
