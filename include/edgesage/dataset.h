// A file of labels. Plain data.
#pragma once

#include <cstdint>
#include <string>

namespace edgesage {

struct LabelFile {
  std::string file;
  std::string device, runtime, runtime_version, host_fingerprint;
  int64_t networks = 0;
  int64_t file_bytes = 0;
  // Of an import: rows without a label, and networks that compute nothing, both left out; further
  // rows of a network, of which the least value is kept.
  int64_t not_measured = 0;
  int64_t constants = 0;
  int64_t repeated = 0;
};

}  // namespace edgesage
