// `--shape NAME:1x3x224x224`.
#pragma once

#include <CLI/CLI.hpp>

#include "src/app/inspect.h"

namespace edgesage::cli {

// Fills `read` while the command line is parsed; it must outlive the parser.
void add_shapes(CLI::App& command, ReadOptions& read);

}  // namespace edgesage::cli
