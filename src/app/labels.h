// Labels of a device, from a store or from a label file, as a data set.
#pragma once

#include <string>
#include <vector>

#include "edgesage/result.h"
#include "src/app/context.h"
#include "src/learn/dataset.h"
#include "src/learn/feature_file.h"
#include "src/learn/train.h"

namespace edgesage::app {

struct LabelRequest {
  std::string store;             // one of the two
  std::string labels;            // a label file (src/learn/label_file.h) or folder (label_folder.h)
  std::string device;            // may be empty for label files of one device
  std::string host_fingerprint;  // where the store or folder has several
  std::string runtime_version;   // where the store has several
  std::vector<std::string> quantities;  // empty: all that can be learnt and the device reports
  // Where the networks' features are kept (src/learn/feature_file.h), so that they are extracted
  // once. Empty: beside the labels, or for this run alone where that cannot be written.
  std::string features;
  // A TOML file (src/devices/energy.h) that "energy_mj" is derived with where the labels do not
  // have it; empty: the device's own, if it has one.
  std::string energy_table;
  int threads = 0;
};

struct LabelledNetworks {
  Dataset dataset;
  LabelSource source;
};

// The device that the labels are of, without building a network.
[[nodiscard]] Result<std::string> device_of_labels(const LabelRequest& request);

// Opens the feature file of the labels, and makes it (anew) where it is missing, damaged or of
// other labels, which is told. kInvalidArgument for a request that names no labels, or labels of
// several hosts; kBadStore for labels that cannot be read.
[[nodiscard]] Result<FeatureFile> load_features(const Context& context,
                                                const LabelRequest& request);

// The same in memory.
[[nodiscard]] Result<LabelledNetworks> load_labels(const Context& context,
                                                   const LabelRequest& request);

}  // namespace edgesage::app
