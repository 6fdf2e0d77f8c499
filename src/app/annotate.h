// `edgesage annotate`: samples networks, measures them, stores what the devices say. Resumable.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "edgesage/annotate.h"
#include "edgesage/result.h"
#include "src/app/context.h"

namespace edgesage::app {

struct AnnotateRequest {
  std::string store;
  std::vector<std::string> spaces;
  std::vector<std::string> devices;
  std::string
      models;         // folder of the files that mutations are made of; empty: the data directory's
  uint64_t seed = 1;  // of the first network of each space
  uint64_t count = 1;  // networks of each space
  int shard = 0, shards = 1;
  int repeats = 1;
  int attempts = 1;  // of a series that is rejected for its noise, in all
  int workers = 1;   // of devices that are not this machine
  bool retry_failures = false;
  int64_t channel_multiple = 1;  // others are passed over: see learn/channel_multiple.h
  std::vector<std::pair<std::string, std::string>> options;  // of the workers
  std::chrono::milliseconds deadline{300'000};
};

// What is stored already is skipped. Errors: kInvalidArgument for unknown spaces and devices,
// kDeviceFailed for a device that does not work here, kBadStore. Everything measured before an
// error is stored.
[[nodiscard]] Result<AnnotationSummary> annotate_networks(const Context& context,
                                                          const AnnotateRequest& request);

}  // namespace edgesage::app
