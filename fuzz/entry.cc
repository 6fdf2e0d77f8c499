// The entry that libFuzzer calls; EDGESAGE_FUZZ_TARGET is the function of targets.h.
#include <cstdint>

#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  edgesage::fuzz::EDGESAGE_FUZZ_TARGET(std::as_bytes(std::span(data, size)));
  return 0;
}
