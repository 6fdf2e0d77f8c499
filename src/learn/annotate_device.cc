// Described devices and sampled names: what a campaign is made of.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/text.h"
#include "src/learn/annotate.h"
#include "src/spaces/space.h"

namespace edgesage {
namespace {

class WorkerMeasurer : public Measurer {
 public:
  WorkerMeasurer(DeviceDescription device, WorkerClient client, MeasureOptions options,
                 std::string host_fingerprint)
      : device_(std::move(device)),
        client_(std::move(client)),
        options_(std::move(options)),
        host_fingerprint_(std::move(host_fingerprint)) {}

  [[nodiscard]] std::string host_fingerprint() const override { return host_fingerprint_; }
  [[nodiscard]] Result<Measurement> measure(const std::filesystem::path& model) override {
    return edgesage::measure(client_, device_, model, options_);
  }

 private:
  DeviceDescription device_;
  WorkerClient client_;
  MeasureOptions options_;
  std::string host_fingerprint_;
};

}  // namespace

Result<AnnotateDevice> annotate_device(const DeviceDescription& device, const DevicePlaces& places,
                                       const MeasureOptions& options, int workers, int repeats) {
  if (workers < 1 || repeats < 1)
    return make_error(
        ErrorCode::kInvalidArgument, device.name,
        fmt::format("{} workers and {} repeats; both are at least 1", workers, repeats));
  EDGESAGE_RETURN_IF_ERROR(check_device(device, places));
  AnnotateDevice annotated;
  annotated.name = device.name;
  annotated.quiet = device.local;
  annotated.workers = device.exclusive ? 1 : workers;
  annotated.repeats = repeats;
  annotated.open = [device, places, options]() -> Result<std::unique_ptr<Measurer>> {
    EDGESAGE_ASSIGN_OR_RETURN(WorkerClient client, WorkerClient::for_device(device, places));
    EDGESAGE_ASSIGN_OR_RETURN(const WorkerHello hello, client.hello());
    return std::make_unique<WorkerMeasurer>(
        device, std::move(client), options,
        device.host_bound ? hello.host_fingerprint : std::string());
  };
  return annotated;
}

Result<std::vector<std::string>> sample_names(std::span<const std::string> spaces,
                                              uint64_t first_seed, uint64_t count, int shard,
                                              int shards) {
  if (shards < 1 || shard < 0 || shard >= shards)
    return make_error(
        ErrorCode::kInvalidArgument, "shard",
        fmt::format("{} of {}; shards count from 0 to one below their number", shard, shards));
  std::vector<NetworkName> networks;
  for (const std::string& space : spaces) {
    const auto known = all_spaces();
    const auto it = std::find_if(known.begin(), known.end(),
                                 [&](const SpaceInfo& info) { return info.name == space; });
    if (it == known.end()) {
      std::vector<std::string> names;
      for (const SpaceInfo& info : known) names.emplace_back(info.name);
      return make_error(ErrorCode::kInvalidArgument, "space",
                        fmt::format("'{}' is not known; there are {}", space, join(names, ", ")));
    }
    networks.push_back({space, it->version, first_seed});
  }
  if (networks.empty() || count == 0)
    return make_error(ErrorCode::kInvalidArgument, "space",
                      "nothing to annotate; name a space and a count of at least 1");
  std::vector<std::string> names;
  uint64_t index = 0;
  for (uint64_t i = 0; i < count; ++i)
    for (NetworkName network : networks) {
      network.seed = first_seed + i;
      if (index++ % static_cast<uint64_t>(shards) == static_cast<uint64_t>(shard))
        names.push_back(network.to_string());
    }
  return names;
}

}  // namespace edgesage
