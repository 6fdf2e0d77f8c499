// Where a calibration's labels come from: a store that is measured into, or a label file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/app/calibrate.h"
#include "src/devices/device.h"
#include "src/learn/label_file.h"
#include "src/learn/train.h"
#include "src/store/store.h"

namespace edgesage::app {

class LabelSourceOfStore {
 public:
  LabelSourceOfStore(const Context& context, const CalibrateRequest& request,
                     const DeviceDescription& device)
      : context_(context), request_(request), device_(device) {}

  // Reads the label file, or opens the store, and takes the labels that are there.
  Status open();
  // Measures what the store does not have; then labels() has them.
  Status measure(const std::vector<std::string>& names);
  [[nodiscard]] const std::vector<LabelRow>& labels() const { return labels_; }
  [[nodiscard]] bool stopped() const { return stopped_; }
  // Who gave the labels, for the predictor file.
  [[nodiscard]] LabelSource label_source() const;
  // Runtime, host, protocol, and what was refused and why.
  void describe(Calibration& calibration) const;

 private:
  Status take_labels();

  const Context& context_;
  const CalibrateRequest& request_;
  const DeviceDescription& device_;
  std::optional<Store> store_;
  std::vector<LabelRow> labels_;
  std::vector<RefusedNetwork> refused_;
  std::map<std::string, std::string> protocol_;
  std::string host_description_;
  bool stopped_ = false;
};

// Labels of other devices in the store of a warm start, by device; of devices with several hosts
// those of each apart. Nothing without such a store.
using WarmLabels = std::map<std::string, std::vector<LabelRow>>;
[[nodiscard]] Result<WarmLabels> warm_labels(const CalibrateRequest& request,
                                             const DeviceDescription& device);

// Measures some labelled networks again and compares them with their labels and with the intervals
// of the predictor at request.output.
Status verify_labels(const Context& context, const CalibrateRequest& request,
                     const DeviceDescription& device, Calibration& calibration);

// One line of what makes the computer unfit, with what to do.
[[nodiscard]] std::string unfit_message(const Fitness& fitness);

}  // namespace edgesage::app
