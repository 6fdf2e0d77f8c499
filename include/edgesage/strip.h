// What came of stripping a model of its weights. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace edgesage {

struct Stripped {
  std::string model, file;
  int64_t file_bytes = 0;
  int64_t constants = 0;            // whose values are gone
  int64_t kept = 0;                 // whose values a prediction needs: shapes, axes, slopes
  std::string graph_hash;           // of both
  std::vector<std::string> same;    // predictors whose answers are the same to the last bit
  std::vector<std::string> differ;  // and those whose are not, with the two latencies
};

}  // namespace edgesage
