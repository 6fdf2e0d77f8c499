#include "tools/edgesage/pool_flags.h"

namespace edgesage::cli {

void add_pool_flags(CLI::App& command, app::PoolRequest& request) {
  const std::string kGroup = "Networks to choose from";
  command.add_option("--space", request.spaces, "Sampled search spaces; default: all")
      ->type_name("SPACE")
      ->group(kGroup);
  command
      .add_option("--models", request.models,
                  "Your own .tflite or .onnx files, or directories of them, in place of spaces")
      ->type_name("PATH")
      ->group(kGroup);
  command
      .add_option("--mutations", request.mutations,
                  "Mutations of each of your files, beside it: other widths, resolutions, kernels "
                  "and depths")
      ->check(CLI::Range(0, 100'000))
      ->type_name("N")
      ->group(kGroup);
  command.add_option("--pool", request.size, "Networks of the spaces, all together")
      ->check(CLI::Range(20, 1'000'000))
      ->type_name("N")
      ->group(kGroup)
      ->capture_default_str();
  command.add_option("--seed", request.seed, "Of everything random")
      ->group(kGroup)
      ->capture_default_str();
  command.add_option("--virtual-devices", request.virtual_devices, "Of the prior")
      ->check(CLI::Range(100, 100'000))
      ->type_name("N")
      ->group(kGroup)
      ->capture_default_str();
  command
      .add_option("--learning-threads", request.threads,
                  "Threads of building and learning; 0: all of the machine")
      ->check(CLI::Range(0, 1024))
      ->type_name("N")
      ->group(kGroup)
      ->capture_default_str();
}

}  // namespace edgesage::cli
