// What a set of labels holds: counts, ranges and histograms.
#pragma once

#include <span>
#include <vector>

#include "edgesage/dataset.h"
#include "src/learn/label_file.h"
#include "src/learn/label_folder.h"

namespace edgesage {

// One part a device, host, version of the runtime and space with its version, sorted in that order.
// "operators", the number of operators that the device priced, is a quantity beside those of the
// labels.
[[nodiscard]] std::vector<DatasetPart> summarize_labels(std::span<const LabelRow> rows);

// By device and reason, the most frequent first. Numbers in reasons do not tell them apart.
[[nodiscard]] std::vector<DatasetFailure> summarize_failures(std::span<const FailureRow> rows);

}  // namespace edgesage
