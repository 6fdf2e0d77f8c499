#include "tools/edgesage/ranks.h"

namespace edgesage::cli {

std::unique_ptr<Ranks> join_ranks() { return nullptr; }

}  // namespace edgesage::cli
