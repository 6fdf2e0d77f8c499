// Published predictors, re-implemented on the rows of whole networks: what a table compares with.
//
// "perfsage-1": the first release of PerfSAGE (Chai et al., arXiv 2301.10999): two GraphSAGE layers
// of 128 with the mean over successors, node vectors of length one, their sum over 200 slots
// divided by 200, a linear head, the absolute percentage error as loss, Adam with 0.01. Features
// are a row's kind, the shape of its output and its options, as they are. Not as published: nodes
// are rows of the lowering (a device's), not operators of the file; features and labels are scaled
// to be of the order of one, without which the optimiser does not leave its start.
//
// "brp-nas": the graph convolutional network of BRP-NAS (brp_nas.h) with a row's kind as its only
// feature and a global node that every row belongs to; labels scaled to 0 ... 1, L1 loss.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "src/learn/controls.h"

namespace edgesage {

struct BaselineOptions {
  int64_t epochs = 40;
  size_t batch = 32;
  int64_t width = 0;  // of the layers; 0: the published one (128, 600)
  uint64_t seed = 1;
};

[[nodiscard]] std::span<const std::string> baseline_names();

// Fits on examples with a label each (positive, finite; one at least). The same arguments give the
// same bytes. Predictions may be negative, and are not thread-safe. Cost: perfsage-1 about as an
// epoch of training, brp-nas some forty times that.
[[nodiscard]] std::unique_ptr<Control> fit_baseline(const std::string& name,
                                                    std::span<const Example* const> examples,
                                                    std::span<const double> labels,
                                                    const BaselineOptions& options);

}  // namespace edgesage
