// `edgesage predict`: what models cost on devices.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "edgesage/answer.h"
#include "edgesage/predict.h"
#include "src/app/context.h"
#include "src/io/model_file.h"

namespace edgesage::app {

struct PredictRequest {
  std::vector<std::string> models;      // paths; "-" is standard input
  std::vector<std::string> devices;     // each by its installed predictor
  std::vector<std::string> predictors;  // files; one serves its device in place of the installed
  ReadOptions read;                     // shapes of inputs
  double level = 0.9;                   // of the intervals
  bool bfloat16 = false;                // weights in half the precision
  int32_t abi = 32;                     // of TensorFlow Lite Micro: 32 or 64
  std::string kernels = "reference";    // of it (edgesage/inspect.h)
  bool inspect = false;                 // fill Prediction::inspection
  bool strict = false;  // kUnsupported for models outside the range, or with unknown operators
};

// One answer a model and device, models outermost. Errors of the whole: a device without a
// predictor or none at all (kInvalidArgument), a damaged predictor (kBadStore).
[[nodiscard]] Result<Answers<Prediction>> predict_models(const Context& context,
                                                         const PredictRequest& request);

// Predictors that are loaded once and answer about many graphs. One call at a time.
class ModelPricer {
 public:
  // Of the request everything but its models is used. Errors as of predict_models.
  [[nodiscard]] static Result<ModelPricer> load(const Context& context,
                                                const PredictRequest& request);
  ModelPricer(ModelPricer&& other) noexcept;
  ModelPricer& operator=(ModelPricer&& other) noexcept;
  ~ModelPricer();

  [[nodiscard]] size_t predictors() const;
  // Each predictor's answer, in order, about a graph or why there is none. `model` is its name, and
  // the file if it has one.
  [[nodiscard]] Answers<Prediction> price(Result<Graph> graph, const std::string& model);

 private:
  struct Parts;
  explicit ModelPricer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace edgesage::app
