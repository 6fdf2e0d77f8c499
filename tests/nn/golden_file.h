// Networks with results that PyTorch computed: tests/nn/goldens, written by
// scripts/make_nn_goldens.py, whose docstring is the format.
#pragma once

#include <string>
#include <vector>

#include "src/base/json.h"
#include "src/nn/trainer.h"

namespace edgesage::nn {

struct Golden {
  Json json;  // everything, for the expected results
  std::string name;
  ModelConfig config;
  LossOptions loss;
  Batch batch;
  Model model;  // with the weights of the file
};

// An entry of a file, or a whole file that holds one network.
Golden golden_from(Json json);

// Throws what parsing throws: a damaged file fails the test that reads it.
Json read_golden_file(const std::string& name);

std::vector<double> doubles_of(const Json& numbers);

// {slice: numbers} in the order of the model's parameters.
std::vector<double> parameters_of(const Json& slices, const Model& model);

// Length of the difference over the length of `expected`, of one slice.
double relative_distance(const ParameterSlice& slice, std::span<const float> actual,
                         std::span<const double> expected);

}  // namespace edgesage::nn
