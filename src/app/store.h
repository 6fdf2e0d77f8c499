// `edgesage store`: what a store of measurements holds, and joining several.
#pragma once

#include <string>
#include <vector>

#include "edgesage/result.h"
#include "edgesage/store_info.h"
#include "src/app/context.h"

namespace edgesage::app {

// kBadStore for a file that is no store, damaged or of another version.
[[nodiscard]] Result<StoreSummary> store_info(const std::string& file);

// Joins `inputs` into `output`, which is made if it does not exist. All are opened and checked
// before anything is written; each is taken over in one transaction, and merging one again changes
// nothing. kBadStore as store_info, and for stores of different builds of a space.
[[nodiscard]] Result<StoreMergeSummary> merge_stores(const Context& context,
                                                     const std::string& output,
                                                     const std::vector<std::string>& inputs);

}  // namespace edgesage::app
