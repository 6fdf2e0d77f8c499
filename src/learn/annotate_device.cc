// Described devices and sampled names: what a campaign is made of.
#include <fmt/format.h>

#include <functional>
#include <utility>

#include "src/base/text.h"
#include "src/learn/annotate.h"
#include "src/spaces/model_library.h"
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

// Name number i of a space.
using NamesOfSpace = std::function<std::string(uint64_t i)>;

Result<NamesOfSpace> names_of_mutations(uint64_t first, uint64_t count,
                                        const ModelLibrary* models) {
  if (models == nullptr) {
    const Result<ModelLibrary>& found = default_model_library();
    if (!found) return tl::unexpected<Error>(found.error());
    models = &*found;
  }
  EDGESAGE_ASSIGN_OR_RETURN(std::vector<MutationCode> codes, models->draw(first, count));
  return [codes = std::move(codes)](uint64_t i) {
    return NetworkName{.space = std::string(kMutationSpace),
                       .code = codes[static_cast<size_t>(i)].to_string()}
        .to_string();
  };
}

Result<NamesOfSpace> names_of(const std::string& space, uint64_t first, uint64_t count,
                              const ModelLibrary* models) {
  if (space == kMutationSpace) return names_of_mutations(first, count, models);
  EDGESAGE_ASSIGN_OR_RETURN(NetworkName name, newest_network(space, first));
  return [first, name = std::move(name)](uint64_t i) {
    NetworkName numbered = name;
    numbered.seed = first + i;
    return numbered.to_string();
  };
}

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
                                              int shards, const ModelLibrary* models) {
  if (shards < 1 || shard < 0 || shard >= shards)
    return make_error(
        ErrorCode::kInvalidArgument, "shard",
        fmt::format("{} of {}; shards count from 0 to one below their number", shard, shards));
  if (spaces.empty() || count == 0)
    return make_error(ErrorCode::kInvalidArgument, "space",
                      "nothing to annotate; name a space and a count of at least 1");
  std::vector<NamesOfSpace> all;
  for (const std::string& space : spaces) {
    EDGESAGE_ASSIGN_OR_RETURN(NamesOfSpace names, names_of(space, first_seed, count, models));
    all.push_back(std::move(names));
  }
  std::vector<std::string> names;
  uint64_t index = 0;
  for (uint64_t i = 0; i < count; ++i)
    for (const NamesOfSpace& name : all)
      if (index++ % static_cast<uint64_t>(shards) == static_cast<uint64_t>(shard))
        names.push_back(name(i));
  return names;
}

}  // namespace edgesage
