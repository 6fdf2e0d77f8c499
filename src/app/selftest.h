// `edgesage selftest`: does this installation work?
#pragma once

#include <vector>

#include "edgesage/selftest.h"
#include "src/app/context.h"

namespace edgesage::app {

// Makes a network, writes and reads it, plans its memory, asks every installed predictor, keeps a
// measurement in a store and runs the network on each device whose runtime is here. Nothing stays
// behind. What is not installed is skipped, with the remedy. Takes some seconds.
[[nodiscard]] std::vector<SelftestStep> selftest(const Context& context);

}  // namespace edgesage::app
