// Flags of the commands that read labels.
#pragma once

#include "src/app/labels.h"
#include "tools/edgesage/session.h"

namespace edgesage::cli {

// --store, --labels, --device, --host, --runtime-version, --quantity, --threads. `request` must
// outlive the parser.
void add_label_flags(CLI::App& command, app::LabelRequest& request);

// --split-seed, --test-share, --calibration-share.
void add_split_flags(CLI::App& command, SplitOptions& split);

}  // namespace edgesage::cli
