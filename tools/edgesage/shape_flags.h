// What of a model is looked at: `--shape NAME:1x224x224x3`, `--batch`, `--signature`,
// `--trip-count`, `-f DIM:VALUE`.
#pragma once

#include <CLI/CLI.hpp>

#include "src/app/inspect.h"

namespace edgesage::cli {

// Fills `read` while the command line is parsed; it must outlive the parser.
void add_shapes(CLI::App& command, ReadOptions& read);
// Without `--signature` and `--trip-count`: what a device can be asked to run.
void add_sizes(CLI::App& command, ReadOptions& read);

}  // namespace edgesage::cli
