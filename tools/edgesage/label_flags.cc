#include "tools/edgesage/label_flags.h"

namespace edgesage::cli {

void add_label_flags(CLI::App& command, app::LabelRequest& request) {
  command.add_option("--store", request.store, "Store with the labels")->type_name("FILE");
  command
      .add_option("--labels", request.labels,
                  "Label file (.csv.zst) or folder of them, instead of a store")
      ->type_name("FILE");
  command.add_option("--device", request.device, "Device whose labels are taken")
      ->type_name("DEVICE");
  command
      .add_option("--host", request.host_fingerprint,
                  "Fingerprint of the host whose labels are taken, where the store has several")
      ->type_name("FINGERPRINT");
  command
      .add_option("--runtime-version", request.runtime_version,
                  "Version of the runtime whose labels are taken, where the store has several")
      ->type_name("VERSION");
  command
      .add_option("--quantity", request.quantities,
                  "Quantity, repeatable; default: all that the labels have")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--features", request.features,
                  "Cache of the networks' features, made where needed; default: beside the labels, "
                  "ending in .features")
      ->type_name("FILE");
  command
      .add_option("--energy-table", request.energy_table,
                  "Table of costs (TOML) that energy_mj is modelled with, instead of the device's")
      ->type_name("FILE");
  command.add_option("--threads", request.threads, "Threads; 0: all of the machine")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
}

void add_split_flags(CLI::App& command, SplitOptions& split) {
  command.add_option("--split-seed", split.seed, "Seed of the split")->capture_default_str();
  command.add_option("--test-share", split.test, "Share of the networks that is held out")
      ->check(CLI::Range(0.01, 0.9))
      ->capture_default_str();
  command
      .add_option("--calibration-share", split.calibration,
                  "Share of the networks that the intervals are fitted on")
      ->check(CLI::Range(0.01, 0.5))
      ->capture_default_str();
}

}  // namespace edgesage::cli
