// Flags of the commands that choose among networks.
#pragma once

#include "src/app/calibrate.h"
#include "tools/edgesage/session.h"

namespace edgesage::cli {

// --space, --models, --pool, --seed, --virtual-devices, --learning-threads.
// `request` must outlive the parser.
void add_pool_flags(CLI::App& command, app::PoolRequest& request);

}  // namespace edgesage::cli
