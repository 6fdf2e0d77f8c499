#include <algorithm>
#include <cmath>

#include "src/base/rng.h"
#include "src/kernels/layer_norm.h"
#include "src/kernels/segment.h"
#include "src/nn/network.h"

namespace edgesage::nn {
namespace {

using kernels::ConstMatrix;
using kernels::Matrix;
using kernels::scratch;

// Nodes are worked on in blocks of at most this many, so that what lies between the steps of a
// layer stays in the nearest cache.
constexpr int64_t kBlock = 48;

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

class ForwardPass {
 public:
  // With `keep`, activations stay in the workspace as backward wants them.
  ForwardPass(const Network& network, const Batch& batch, const Dropout& dropout, bool keep,
              Workspace& workspace)
      : network_(network),
        config_(network.config),
        layout_(network.layout),
        batch_(batch),
        dropout_(dropout),
        keep_(keep),
        rounded_(keep ? nullptr : network.rounded),
        workspace_(workspace),
        nodes_(batch.nodes()),
        graphs_(batch.graphs()),
        hidden_(config_.hidden),
        last_(scratch(workspace.last, nodes_, hidden_)) {}

  void run() {
    workspace_.layers.resize(layout_.layers.size());
    encoder();
    for (size_t l = 0; l < layout_.layers.size(); ++l) layer(l);
    node_head();
    pool();
    graph_head();
    read_out(config_, batch_, workspace_);
  }

 private:
  // Calls body(first, count) for blocks of nearly the same size.
  template <class Body>
  void for_each_block(Body body) const {
    int64_t first = 0;
    for (int64_t blocks = (nodes_ + kBlock - 1) / kBlock; blocks > 0; --blocks) {
      const int64_t count = (nodes_ - first + blocks - 1) / blocks;
      body(first, count);
      first += count;
    }
  }

  // Rows of a matrix that lives as long as the workspace, or of scratch for one block.
  Matrix rows_of(kernels::AlignedFloats& kept, kernels::AlignedFloats& block, int64_t first,
                 int64_t count, int64_t cols) const {
    if (keep_) return scratch(kept, nodes_, cols).slice(first, count);
    return scratch(block, std::min(kBlock, nodes_), cols).slice(0, count);
  }

  // Where the input of layer `l` stands, which is what came out of the one before; of the layer
  // after the last one, the result.
  Matrix nodes_of(size_t l) {
    const size_t to_go = layout_.layers.size() - l;
    if (to_go == 0) return last_;
    if (keep_) return scratch(workspace_.layers[l].input, nodes_, 3 * hidden_).columns(0, hidden_);
    return to_go % 2 == 0 ? last_ : scratch(workspace_.other, nodes_, hidden_);
  }

  // A matrix of the parameters; where there is a rounded form, it is the one to use.
  struct Weight {
    const kernels::PackedMatrix& whole;
    const kernels::PackedBf16* rounded;
  };

  void multiply(ConstMatrix left, ConstMatrix right, const Weight& weight,
                const kernels::GemmOptions& options, Matrix out) {
    if (weight.rounded == nullptr) return kernels::gemm(left, right, weight.whole, options, out);
    kernels::gemm_bf16(left, right, *weight.rounded, options, workspace_.block_rounded, out);
  }

  // y = relu(layer norm([left right] W + b)), and what follows, for a block of nodes.
  void normed_dense(const NormedDense& dense, const Weight& weight, ConstMatrix left,
                    ConstMatrix right, LayerBuffers& buffers, int64_t first,
                    const kernels::LayerNormAfter& after, Matrix y) {
    const Matrix z = rows_of(buffers.normal, workspace_.block_normal, first, y.rows, hidden_);
    kernels::LayerNormState state;
    if (keep_) state = {z, scratch(buffers.inverse_deviation, nodes_, 1).slice(first, y.rows).data};
    multiply(left, right, weight, {.bias = network_.at(dense.bias)}, z);
    kernels::layer_norm_relu(z, network_.at(dense.gain), network_.at(dense.shift), state, after, y);
  }

  void fill_input(int64_t first, Matrix input) const {
    const int64_t features = batch_.features, embedding = config_.embedding;
    const float* table = network_.at(layout_.embedding);
    for (int64_t i = 0; i < input.rows; ++i) {
      float* row = input.row(i);
      std::copy_n(batch_.x.data() + (first + i) * features, features, row);
      std::copy_n(table + batch_.kind[static_cast<size_t>(first + i)] * embedding, embedding,
                  row + features);
    }
  }

  void encoder() {
    const Matrix out = nodes_of(0);
    const Weight weight{network_.packed.encoder, rounded_ ? &rounded_->encoder : nullptr};
    const int64_t width = int64_t{config_.features} + config_.embedding;
    for_each_block([&](int64_t first, int64_t count) {
      const Matrix input =
          rows_of(workspace_.encoder.input, workspace_.block_input, first, count, width);
      fill_input(first, input);
      normed_dense(layout_.encoder, weight, input, {}, workspace_.encoder, first, {},
                   out.slice(first, count));
    });
  }

  // The means over both kinds of neighbours of a block of nodes, side by side.
  void fill_means(ConstMatrix own, int64_t first, Matrix means) const {
    int64_t column = 0;
    for (const Csr* csr : {&batch_.producers, &batch_.consumers}) {
      kernels::segment_mean({csr->offset.data() + first, csr->index.data()}, own,
                            means.columns(column, hidden_));
      column += hidden_;
    }
  }

  void layer(size_t l) {
    LayerBuffers& buffers = workspace_.layers[l];
    const Matrix own = nodes_of(l), out = nodes_of(l + 1);
    const Weight weight{network_.packed.layers[l], rounded_ ? &rounded_->layers[l] : nullptr};
    ConstMatrix kept;
    if (dropout_.rate > 0) {
      const Matrix drawn = scratch(buffers.kept, nodes_, hidden_);
      draw_kept(dropout_.rate, Rng(dropout_.seed + l), drawn);
      kept = drawn;
    }
    for_each_block([&](int64_t first, int64_t count) {
      const Matrix means = rows_of(buffers.input, workspace_.block_input, first, count, 3 * hidden_)
                               .columns(hidden_, 2 * hidden_);
      fill_means(own, first, means);
      const Matrix rows = own.slice(first, count);
      normed_dense(layout_.layers[l], weight, rows, means, buffers, first,
                   {.factor = kept.slice(first, count), .residual = rows}, out.slice(first, count));
    });
  }

  void two_layers(const Dense& first, const Weight& first_weight, const Dense& second,
                  const kernels::PackedMatrix& second_weight, ConstMatrix input, Matrix hidden,
                  Matrix out) {
    multiply(input, {}, first_weight, {.bias = network_.at(first.bias), .relu = true}, hidden);
    kernels::gemm(hidden, second_weight, {.bias = network_.at(second.bias)}, out);
  }

  void node_head() {
    const Matrix out = scratch(workspace_.node_out, nodes_, config_.columns());
    const Weight weight{network_.packed.node_hidden, rounded_ ? &rounded_->node_hidden : nullptr};
    for_each_block([&](int64_t first, int64_t count) {
      two_layers(layout_.node_hidden, weight, layout_.node_out, network_.packed.node_out,
                 last_.slice(first, count),
                 rows_of(workspace_.node_hidden, workspace_.node_hidden, first, count,
                         config_.node_hidden()),
                 out.slice(first, count));
    });
  }

  // Mean and maximum over the nodes, log(1 + nodes), graph features.
  void pool() {
    const Matrix pooled = scratch(workspace_.pooled, graphs_, config_.pooled());
    workspace_.largest.resize(static_cast<size_t>(graphs_ * hidden_));
    const kernels::Segments nodes_of_graphs{batch_.graph_offset.data(), nullptr};
    kernels::segment_mean(nodes_of_graphs, last_, pooled.columns(0, hidden_));
    kernels::segment_maximum(nodes_of_graphs, last_, pooled.columns(hidden_, hidden_),
                             workspace_.largest.data());
    for (int64_t g = 0; g < graphs_; ++g) {
      const auto at = static_cast<size_t>(g);
      const int32_t count = batch_.graph_offset[at + 1] - batch_.graph_offset[at];
      float* rest = pooled.row(g) + 2 * hidden_;
      rest[0] = static_cast<float>(std::log1p(static_cast<double>(count)));
      std::copy_n(batch_.globals.data() + g * batch_.globals_width, batch_.globals_width, rest + 1);
    }
  }

  void graph_head() {
    two_layers(layout_.graph_hidden, {network_.packed.graph_hidden, nullptr}, layout_.graph_out,
               network_.packed.graph_out, scratch(workspace_.pooled, graphs_, config_.pooled()),
               scratch(workspace_.graph_hidden, graphs_, hidden_),
               scratch(workspace_.graph_out, graphs_, 2 * int64_t{config_.quantity_count()}));
  }

  const Network& network_;
  const ModelConfig& config_;
  const Layout& layout_;
  const Batch& batch_;
  const Dropout& dropout_;
  bool keep_;
  const RoundedWeights* rounded_;  // or null
  Workspace& workspace_;
  int64_t nodes_, graphs_, hidden_;
  Matrix last_;
};

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

void pack(const Layout& layout, const float* parameters, RoundedWeights& rounded) {
  const auto matrix = [&](size_t slice) { return layout[slice].of(parameters); };
  rounded.encoder.pack(matrix(layout.encoder.weight));
  rounded.layers.resize(layout.layers.size());
  for (size_t l = 0; l < layout.layers.size(); ++l)
    rounded.layers[l].pack(matrix(layout.layers[l].weight));
  rounded.node_hidden.pack(matrix(layout.node_hidden.weight));
}

void forward(const Network& network, const Batch& batch, const Dropout& dropout,
             Workspace& workspace) {
  ForwardPass(network, batch, dropout, true, workspace).run();
}

void infer(const Network& network, const Batch& batch, Workspace& workspace) {
  ForwardPass(network, batch, {}, false, workspace).run();
}

}  // namespace edgesage::nn
