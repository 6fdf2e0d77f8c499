// Networks of a feature file as a source of graphs for training: read from the mapping, normalised
// and labelled as they are drawn.
#pragma once

#include <cstdint>
#include <vector>

#include "src/learn/feature_file.h"
#include "src/nn/graph_source.h"
#include "src/predict/predictor_file.h"

namespace edgesage {

// Graph i is network indexes[i] of the file. File and predictor data must outlive it; of the data
// it uses the normalisers and the quantities.
class FeatureGraphs final : public nn::GraphSource {
 public:
  FeatureGraphs(const FeatureFile& file, std::vector<uint32_t> indexes, const PredictorData& data)
      : file_(file), indexes_(std::move(indexes)), data_(data) {}

  [[nodiscard]] int32_t graphs() const override { return static_cast<int32_t>(indexes_.size()); }
  [[nodiscard]] int32_t nodes_of(int32_t graph) const override {
    return file_.nodes_of(indexes_[static_cast<size_t>(graph)]);
  }
  void append(int32_t graph, nn::Batch& to) const override;

 private:
  const FeatureFile& file_;
  std::vector<uint32_t> indexes_;
  const PredictorData& data_;
};

}  // namespace edgesage
