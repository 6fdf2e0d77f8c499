// Networks sampled from a search space. Plain data; units are in the names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace edgesage {

struct SearchSpace {
  std::string name;  // "mobile-classifier"
  int32_t version = 1;
  std::string description;
};

struct GeneratedNetwork {
  std::string file;  // where it was written
  std::string name;  // "mobile-classifier/1/4711": makes the same network again
  std::string graph_hash;
  int64_t file_bytes = 0;
  int64_t macs = 0;
  int64_t weights_bytes = 0;
  int64_t operators = 0;
};

}  // namespace edgesage
