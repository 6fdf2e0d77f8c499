// --abi and --kernels: which build of TensorFlow Lite Micro the arena is computed for.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace edgesage::cli {

inline void add_abi(CLI::App& command, int32_t& abi, std::string& kernels) {
  command
      .add_option("--abi", abi,
                  "TensorFlow Lite Micro for a microcontroller (32) or its Python package (64)")
      ->check(CLI::IsMember({32, 64}))
      ->type_name("BITS")
      ->capture_default_str();
  command
      .add_option(
          "--kernels", kernels,
          "Of TensorFlow Lite Micro: reference, or CMSIS-NN for Cortex-M4, M7, M33 (cmsis-nn), "
          "M52, M55, M85 (cmsis-nn-mve), M0, M3 (cmsis-nn-plain)")
      ->check(CLI::IsMember({"reference", "cmsis-nn", "cmsis-nn-mve", "cmsis-nn-plain"}))
      ->type_name("KERNELS")
      ->capture_default_str();
}

}  // namespace edgesage::cli
