// `edgesage generate`: samples networks of a search space as .tflite files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edgesage/generate.h"
#include "edgesage/result.h"
#include "src/app/context.h"

namespace edgesage::app {

struct GenerateRequest {
  std::string space;  // the newest version of it
  int64_t count = 1;
  uint64_t seed = 1;  // of the first network; the others follow by one
  // Of a published space: these networks in place of sampled ones.
  std::vector<std::string> codes;
  std::string code_file;  // a CSV whose column `code_column` has more codes
  std::string code_column;
  std::string directory;  // made if it does not exist
  int threads = 0;        // 0: as many as the machine has; the files do not depend on it
};

// One entry a network, in order of their seeds or codes. Stopped early, those that were written. A
// file that exists is replaced as a whole. kInvalidArgument for an unknown space (with the closest
// one) and for a directory that cannot be written; also for codes that are none of their space.
[[nodiscard]] Result<std::vector<GeneratedNetwork>> generate(const Context& context,
                                                             const GenerateRequest& request);

[[nodiscard]] std::vector<SearchSpace> search_spaces();

}  // namespace edgesage::app
