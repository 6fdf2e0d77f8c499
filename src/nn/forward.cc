#include <algorithm>
#include <cmath>

#include "src/base/rng.h"
#include "src/kernels/elementwise.h"
#include "src/kernels/layer_norm.h"
#include "src/kernels/segment.h"
#include "src/nn/network.h"

namespace edgesage::nn {
namespace {

using kernels::ConstMatrix;
using kernels::Matrix;
using kernels::scratch;

void fill_input(const Network& network, const Batch& batch, Matrix input) {
  const int64_t features = batch.features, embedding = network.config.embedding;
  const float* table = network.at(network.layout.embedding);
  for (int64_t i = 0; i < input.rows; ++i) {
    float* row = input.row(i);
    std::copy_n(batch.x.data() + i * features, features, row);
    std::copy_n(table + batch.kind[static_cast<size_t>(i)] * embedding, embedding, row + features);
  }
}

// y = relu(layer norm(input W + b)).
void normed_dense(const Network& network, const NormedDense& dense,
                  const kernels::PackedMatrix& weight, ConstMatrix input, LayerBuffers& buffers,
                  Matrix y) {
  const Matrix normal = scratch(buffers.normal, y.rows, y.cols);
  const Matrix deviation = scratch(buffers.inverse_deviation, y.rows, 1);
  kernels::gemm(input, weight, {.bias = network.at(dense.bias)}, normal);
  kernels::layer_norm_relu(normal, network.at(dense.gain), network.at(dense.shift),
                           {normal, deviation.data}, y);
}

// 0 or 1 / (1 - rate), sixteen bits of randomness each.
void draw_kept(double rate, Rng rng, Matrix kept) {
  const auto threshold = static_cast<uint64_t>(rate * 65536.0);
  const auto factor = static_cast<float>(1.0 / (1.0 - static_cast<double>(threshold) / 65536.0));
  uint64_t bits = 0;
  const int64_t count = kept.rows * kept.cols;
  for (int64_t i = 0; i < count; ++i) {
    bits = i % 4 == 0 ? rng.next() : bits >> 16;
    kept.data[i] = (bits & 0xffff) < threshold ? 0.0f : factor;
  }
}

// Columns 1 and 2 of a layer's input: the means over both kinds of neighbours.
void fill_neighbours(const Batch& batch, Matrix input, int64_t hidden) {
  const Matrix own = input.columns(0, hidden);
  kernels::segment_mean({batch.producers.offset.data(), batch.producers.index.data()}, own,
                        input.columns(hidden, hidden));
  kernels::segment_mean({batch.consumers.offset.data(), batch.consumers.index.data()}, own,
                        input.columns(2 * hidden, hidden));
}

void encode(const Network& network, const Batch& batch, const Dropout& dropout,
            Workspace& workspace) {
  const int64_t nodes = batch.nodes(), hidden = network.config.hidden;
  const auto layers = static_cast<size_t>(network.config.layers);
  workspace.layers.resize(layers);
  const auto output_of = [&](size_t next) {
    if (next == layers) return scratch(workspace.last, nodes, hidden);
    return scratch(workspace.layers[next].input, nodes, 3 * hidden).columns(0, hidden);
  };
  const Matrix input =
      scratch(workspace.encoder.input, nodes, int64_t{batch.features} + network.config.embedding);
  fill_input(network, batch, input);
  normed_dense(network, network.layout.encoder, network.packed.encoder, input, workspace.encoder,
               output_of(0));
  for (size_t l = 0; l < layers; ++l) {
    LayerBuffers& buffers = workspace.layers[l];
    const Matrix layer_input = scratch(buffers.input, nodes, 3 * hidden);
    fill_neighbours(batch, layer_input, hidden);
    const Matrix next = output_of(l + 1);
    normed_dense(network, network.layout.layers[l], network.packed.layers[l], layer_input, buffers,
                 next);
    if (dropout.rate > 0) {
      const Matrix kept = scratch(buffers.kept, nodes, hidden);
      draw_kept(dropout.rate, Rng(dropout.seed + l), kept);
      kernels::multiply(kept, next);
    }
    kernels::add(layer_input.columns(0, hidden), next);
  }
}

// Mean and maximum over the nodes, log(1 + nodes), graph features.
void pool(const Network& network, const Batch& batch, Workspace& workspace) {
  const int64_t graphs = batch.graphs(), hidden = network.config.hidden;
  const Matrix last = scratch(workspace.last, batch.nodes(), hidden);
  const Matrix pooled = scratch(workspace.pooled, graphs, network.config.pooled());
  workspace.largest.resize(static_cast<size_t>(graphs * hidden));
  for (int64_t g = 0; g < graphs; ++g) {
    const int32_t first = batch.graph_offset[static_cast<size_t>(g)];
    const int64_t count = batch.graph_offset[static_cast<size_t>(g) + 1] - first;
    float* row = pooled.row(g);
    int32_t* largest = workspace.largest.data() + g * hidden;
    std::fill_n(row, 2 * hidden, 0.0f);
    if (count > 0) {
      const ConstMatrix nodes{last.row(first), count, hidden, hidden};
      kernels::add_column_sums(nodes, row);
      for (int64_t j = 0; j < hidden; ++j) row[j] /= static_cast<float>(count);
      kernels::column_maxima(nodes, row + hidden, largest);
      for (int64_t j = 0; j < hidden; ++j) largest[j] += first;
    }
    row[2 * hidden] = static_cast<float>(std::log1p(static_cast<double>(count)));
    std::copy_n(batch.globals.data() + g * batch.globals_width, batch.globals_width,
                row + 2 * hidden + 1);
  }
}

void two_layers(const Network& network, const Dense& first,
                const kernels::PackedMatrix& first_weight, const Dense& second,
                const kernels::PackedMatrix& second_weight, ConstMatrix input, Matrix hidden,
                Matrix out) {
  kernels::gemm(input, first_weight, {.bias = network.at(first.bias), .relu = true}, hidden);
  kernels::gemm(hidden, second_weight, {.bias = network.at(second.bias)}, out);
}

}  // namespace

void pack(const Layout& layout, const float* parameters, PackedWeights& packed) {
  const auto matrix = [&](size_t slice) { return layout[slice].of(parameters); };
  packed.encoder.pack(matrix(layout.encoder.weight));
  packed.layers.resize(layout.layers.size());
  for (size_t l = 0; l < layout.layers.size(); ++l)
    packed.layers[l].pack(matrix(layout.layers[l].weight));
  packed.node_hidden.pack(matrix(layout.node_hidden.weight));
  packed.node_out.pack(matrix(layout.node_out.weight));
  packed.graph_hidden.pack(matrix(layout.graph_hidden.weight));
  packed.graph_out.pack(matrix(layout.graph_out.weight));
}

void forward(const Network& network, const Batch& batch, const Dropout& dropout,
             Workspace& workspace) {
  const ModelConfig& config = network.config;
  const Layout& layout = network.layout;
  const PackedWeights& packed = network.packed;
  const int64_t nodes = batch.nodes(), graphs = batch.graphs();
  encode(network, batch, dropout, workspace);
  pool(network, batch, workspace);
  two_layers(network, layout.node_hidden, packed.node_hidden, layout.node_out, packed.node_out,
             scratch(workspace.last, nodes, config.hidden),
             scratch(workspace.node_hidden, nodes, config.node_hidden()),
             scratch(workspace.node_out, nodes, config.columns()));
  two_layers(network, layout.graph_hidden, packed.graph_hidden, layout.graph_out, packed.graph_out,
             scratch(workspace.pooled, graphs, config.pooled()),
             scratch(workspace.graph_hidden, graphs, config.hidden),
             scratch(workspace.graph_out, graphs, 2 * int64_t{config.quantity_count()}));
  read_out(config, batch, workspace);
}

}  // namespace edgesage::nn
