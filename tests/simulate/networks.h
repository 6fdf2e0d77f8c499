// Networks for tests of virtual devices.
#pragma once

#include <string>
#include <vector>

#include "src/lower/rows.h"
#include "src/simulate/simulate.h"
#include "tests/lower/built_graph.h"

namespace edgesage::simulate {

inline Lowering generic_rows(const Graph& graph) {
  return lower(graph, *target_from_name("generic"));
}
inline SimNetwork network_of(const Graph& graph, const SimOptions& options = {}) {
  return make_sim_network(graph, generic_rows(graph), options);
}

// Two stages of three equal cells with parallel branches, then a classifier.
inline Graph branched_cells(DataType type) {
  GraphBuilder net(net_of(type));
  auto x = net.input("x", {1, 16, 16, 3});
  x = net.conv_2d(x, {.channels = 12, .kernel_h = 3, .kernel_w = 3});
  for (int64_t channels = 12; channels <= 24; channels *= 2) {
    x = net.conv_2d(x, {.channels = channels,
                        .kernel_h = 3,
                        .kernel_w = 3,
                        .stride_h = 2,
                        .stride_w = 2,
                        .activation = Activation::kRelu});
    for (int cell = 0; cell < 3; ++cell) {
      const auto a = net.conv_2d(x, {.channels = channels, .kernel_h = 3, .kernel_w = 3});
      const auto b = net.add(net.conv_2d(x, {.channels = channels}), a);
      const auto c = net.conv_2d(net.relu(b), {.channels = channels});
      const auto d = net.average_pool(x, {.kernel_h = 3, .kernel_w = 3, .padding = Padding::kSame});
      x = net.add(net.add(net.add(c, a), d), x);
    }
  }
  return finish(net, {net.softmax(net.fully_connected(net.mean(x, {1, 2}, false), {.units = 10}))});
}

// Kinds that mixed networks use: depthwise of several sizes, dilation, 1-D filters, gates, concat.
inline Graph mixed_kinds(DataType type) {
  GraphBuilder net(net_of(type));
  auto x = net.input("x", {1, 30, 26, 3});
  x = net.conv_2d(x, {.channels = 20, .kernel_h = 5, .kernel_w = 5, .stride_h = 2, .stride_w = 2});
  for (const int64_t kernel : {3, 5, 7}) {
    auto y = net.hard_swish(net.conv_2d(x, {.channels = 36, .activation = Activation::kRelu6}));
    y = net.depthwise_conv_2d(y, {.kernel_h = kernel, .kernel_w = kernel});
    const auto gate = net.logistic(net.conv_2d(net.mean(y, {1, 2}, true), {.channels = 36}));
    x = net.add(net.conv_2d(net.mul(y, gate), {.channels = 20}), x);
  }
  const auto dilated = net.conv_2d(
      x, {.channels = 20, .kernel_h = 3, .kernel_w = 3, .dilation_h = 2, .dilation_w = 2});
  const auto flat = net.conv_2d(x, {.channels = 20, .kernel_h = 1, .kernel_w = 7});
  const std::vector<GraphBuilder::Id> parts{dilated, flat, x};
  x = net.concatenation(parts, 3);
  x = net.max_pool(net.pad(x, {0, 0, 1, 1, 1, 1, 0, 0}), {.kernel_h = 3, .kernel_w = 3});
  x = net.reshape(x, {1, net.shape(x)[1] * net.shape(x)[2] * net.shape(x)[3]});
  return finish(net, {net.fully_connected(x, {.units = 5})});
}

}  // namespace edgesage::simulate
