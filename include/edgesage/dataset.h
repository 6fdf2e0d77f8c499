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
};

}  // namespace edgesage
