// BRP-NAS's latency predictor, re-implemented as a baseline (Dudziak et al., "BRP-NAS:
// Prediction-based NAS using GCNs", NeurIPS 2020, arXiv 2007.08668): a graph convolutional network
// that learns one device's latency of NAS-Bench-201 cells from that device's labels alone.
//
// As published: the graph, four layers of 600, layer normalisation, AdamW with weight decay 5e-4,
// L1 loss, 250 epochs, dropout 0.002. Here training takes batches of 10 with a cosine from 8e-4 to
// zero, and learns from all labels; the authors' released configuration takes single networks from
// 4e-4, halves the rate where another 100 labels say so, and may stop early. Not known: how the
// published labels were scaled, and which of the two ways of training a published figure is of.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "edgesage/result.h"
#include "src/learn/brp_nas_network.h"
#include "src/spaces/nas_bench_201.h"

namespace edgesage {

struct BrpNasOptions {
  int64_t epochs = 250;
  int64_t width = 600;
  size_t batch = 10;
  double learning_rate = 8e-4;
  double weight_decay = 5e-4;
  double dropout = 2e-3;
  uint64_t seed = 0;
};

class BrpNas {
 public:
  // Labels are scaled to 0 ... 1 by their smallest and largest. kInvalidArgument for no cells,
  // another number of labels, labels that are not finite, options that are not positive. The same
  // arguments give the same bytes. Cost: a few milliseconds of one core a batch and epoch.
  [[nodiscard]] static Result<BrpNas> train(std::span<const NasBench201Cell> cells,
                                            std::span<const double> latency_ms,
                                            const BrpNasOptions& options);

  // In the unit of the labels; may be negative, as published. An answer does not depend on the
  // other cells. Not thread-safe.
  [[nodiscard]] std::vector<double> predict(std::span<const NasBench201Cell> cells);

 private:
  BrpNas(BrpNasNetwork network, double low, double range)
      : network_(std::move(network)), low_(low), range_(range) {}

  BrpNasNetwork network_;
  double low_, range_;
};

}  // namespace edgesage
