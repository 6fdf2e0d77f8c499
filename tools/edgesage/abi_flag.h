// --abi: whose pointers TensorFlow Lite Micro's arena is computed for.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace edgesage::cli {

inline void add_abi(CLI::App& command, int32_t& abi) {
  command
      .add_option("--abi", abi,
                  "TensorFlow Lite Micro for a microcontroller (32) or its Python package (64)")
      ->check(CLI::IsMember({32, 64}))
      ->type_name("BITS")
      ->capture_default_str();
}

}  // namespace edgesage::cli
