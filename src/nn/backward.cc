#include <algorithm>

#include "src/kernels/elementwise.h"
#include "src/kernels/layer_norm.h"
#include "src/kernels/segment.h"
#include "src/nn/network.h"

namespace edgesage::nn {
namespace {

using kernels::ConstMatrix;
using kernels::Matrix;
using kernels::PackedMatrix;
using kernels::scratch;

class BackwardPass {
 public:
  BackwardPass(const Network& network, const PackedWeights& transposed, const Batch& batch,
               const Dropout& dropout, Workspace& workspace, BackwardBuffers& buffers,
               float* gradient)
      : network_(network),
        config_(network.config),
        layout_(network.layout),
        transposed_(transposed),
        batch_(batch),
        dropout_(dropout),
        workspace_(workspace),
        buffers_(buffers),
        gradient_(gradient),
        nodes_(batch.nodes()),
        graphs_(batch.graphs()),
        hidden_(config_.hidden),
        d_last_(scratch(buffers.d_last, nodes_, hidden_)) {}

  void run() {
    node_head();
    graph_head();
    for (size_t l = layout_.layers.size(); l-- > 0;) layer(l);
    encoder();
  }

 private:
  // dW += input^T d_out, db += column sums of d_out.
  void dense_gradient(const Dense& dense, ConstMatrix input, ConstMatrix d_out) {
    buffers_.packed.pack(d_out);
    kernels::gemm_transposed_accumulate(input, buffers_.packed,
                                        layout_[dense.weight].of(gradient_));
    kernels::add_column_sums(d_out, gradient_ + layout_[dense.bias].offset);
  }

  // Through out = relu(input W1 + b1) W2 + b2: writes d input.
  void head(const Dense& first, const PackedMatrix& first_t, const Dense& second,
            const PackedMatrix& second_t, ConstMatrix input, ConstMatrix hidden, ConstMatrix d_out,
            Matrix d_input) {
    dense_gradient(second, hidden, d_out);
    const Matrix d_hidden = scratch(buffers_.d_hidden, hidden.rows, hidden.cols);
    kernels::gemm(d_out, second_t, {}, d_hidden);
    kernels::relu_backward(hidden, d_hidden);
    dense_gradient(first, input, d_hidden);
    kernels::gemm(d_hidden, first_t, {}, d_input);
  }

  void node_head() {
    head(layout_.node_hidden, transposed_.node_hidden, layout_.node_out, transposed_.node_out,
         scratch(workspace_.last, nodes_, hidden_),
         scratch(workspace_.node_hidden, nodes_, config_.node_hidden()),
         scratch(buffers_.d_node_out, nodes_, config_.columns()), d_last_);
  }

  void graph_head() {
    const Matrix d_pooled = scratch(buffers_.d_pooled, graphs_, config_.pooled());
    head(layout_.graph_hidden, transposed_.graph_hidden, layout_.graph_out, transposed_.graph_out,
         scratch(workspace_.pooled, graphs_, config_.pooled()),
         scratch(workspace_.graph_hidden, graphs_, hidden_),
         scratch(buffers_.d_graph_out, graphs_, 2 * int64_t{config_.quantity_count()}), d_pooled);
    for (int64_t g = 0; g < graphs_; ++g) unpool(g, d_pooled.row(g));
  }

  // The mean's gradient goes to all nodes of the graph, the maximum's to the node that had it.
  void unpool(int64_t g, float* d_pooled) {
    const int64_t first = batch_.graph_offset[static_cast<size_t>(g)];
    const int64_t last = batch_.graph_offset[static_cast<size_t>(g) + 1];
    if (first == last) return;
    for (int64_t j = 0; j < hidden_; ++j) d_pooled[j] /= static_cast<float>(last - first);
    const ConstMatrix d_mean{d_pooled, last - first, hidden_, 0};
    kernels::add(d_mean, {d_last_.row(first), last - first, hidden_, d_last_.stride});
    const int32_t* largest = workspace_.largest.data() + g * hidden_;
    for (int64_t j = 0; j < hidden_; ++j) d_last_.row(largest[j])[j] += d_pooled[hidden_ + j];
  }

  // Through relu(layer norm(.)): d_out to d_normed, which may be the same; gradients of gain,
  // shift, weight and bias.
  void normed_gradient(const NormedDense& dense, LayerBuffers& buffers, int64_t inputs,
                       ConstMatrix d_out, Matrix d_normed) {
    const kernels::LayerNormState state{scratch(buffers.normal, nodes_, hidden_),
                                        buffers.inverse_deviation.data()};
    kernels::layer_norm_relu_backward(
        d_out, state, network_.at(dense.gain), network_.at(dense.shift), d_normed,
        gradient_ + layout_[dense.gain].offset, gradient_ + layout_[dense.shift].offset);
    dense_gradient(dense, scratch(buffers.input, nodes_, inputs), d_normed);
  }

  // d_last_ holds d loss / d (output of the layer), afterwards d loss / d (its input).
  void layer(size_t l) {
    LayerBuffers& buffers = workspace_.layers[l];
    const Matrix d_normed = scratch(buffers_.d_normed, nodes_, hidden_);
    ConstMatrix d_out = d_last_;
    if (dropout_.rate > 0) {
      std::copy_n(d_last_.data, nodes_ * hidden_, d_normed.data);
      kernels::multiply(scratch(buffers.kept, nodes_, hidden_), d_normed);
      d_out = d_normed;
    }
    normed_gradient(layout_.layers[l], buffers, 3 * hidden_, d_out, d_normed);
    const Matrix d_input = scratch(buffers_.d_input, nodes_, 3 * hidden_);
    kernels::gemm(d_normed, transposed_.layers[l], {}, d_input);
    kernels::add(d_input.columns(0, hidden_), d_last_);
    kernels::segment_mean_backward({batch_.producers.offset.data(), batch_.producers.index.data()},
                                   d_input.columns(hidden_, hidden_), d_last_);
    kernels::segment_mean_backward({batch_.consumers.offset.data(), batch_.consumers.index.data()},
                                   d_input.columns(2 * hidden_, hidden_), d_last_);
  }

  void encoder() {
    const int64_t embedding = config_.embedding;
    normed_gradient(layout_.encoder, workspace_.encoder, config_.features + embedding, d_last_,
                    d_last_);
    const Matrix d_embedding = scratch(buffers_.d_input, nodes_, embedding);
    kernels::gemm(d_last_, transposed_.encoder, {}, d_embedding);
    float* table = gradient_ + layout_[layout_.embedding].offset;
    for (int64_t i = 0; i < nodes_; ++i) {
      const int64_t kind = batch_.kind[static_cast<size_t>(i)];
      for (int64_t j = 0; j < embedding; ++j) table[kind * embedding + j] += d_embedding.row(i)[j];
    }
  }

  const Network& network_;
  const ModelConfig& config_;
  const Layout& layout_;
  const PackedWeights& transposed_;
  const Batch& batch_;
  const Dropout& dropout_;
  Workspace& workspace_;
  BackwardBuffers& buffers_;
  float* gradient_;
  int64_t nodes_, graphs_, hidden_;
  Matrix d_last_;
};

}  // namespace

void pack_transposed(const ModelConfig& config, const Layout& layout, const float* parameters,
                     PackedWeights& packed) {
  const auto matrix = [&](size_t slice) { return layout[slice].of(parameters); };
  const ConstMatrix encoder = matrix(layout.encoder.weight);
  packed.encoder.pack_transposed(
      {encoder.row(config.features), config.embedding, encoder.cols, encoder.stride});
  packed.layers.resize(layout.layers.size());
  for (size_t l = 0; l < layout.layers.size(); ++l)
    packed.layers[l].pack_transposed(matrix(layout.layers[l].weight));
  packed.node_hidden.pack_transposed(matrix(layout.node_hidden.weight));
  packed.node_out.pack_transposed(matrix(layout.node_out.weight));
  packed.graph_hidden.pack_transposed(matrix(layout.graph_hidden.weight));
  packed.graph_out.pack_transposed(matrix(layout.graph_out.weight));
}

void backward(const Network& network, const PackedWeights& transposed, const Batch& batch,
              const Dropout& dropout, Workspace& workspace, BackwardBuffers& buffers,
              float* gradient) {
  BackwardPass(network, transposed, batch, dropout, workspace, buffers, gradient).run();
}

}  // namespace edgesage::nn
