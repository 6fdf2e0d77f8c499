// Measuring one network on one device: the protocol on top of the worker's single answer.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "edgesage/result.h"
#include "src/base/json.h"
#include "src/devices/device.h"
#include "src/devices/noise.h"
#include "src/devices/worker_client.h"
#include "src/graph/graph.h"
#include "src/store/measurement.h"

namespace edgesage {

struct MeasureOptions {
  // Options of the worker, over the description's defaults: for Vela `config`, `system_config`,
  // `memory_mode`, `arena_cache_size`, `optimise`; for LiteRT `threads`, `cores`, `cpu`, `clock`,
  // `priority`, `min_runs`, `max_runs`, `min_time_ms`, `max_time_ms`, `bursts`, `burst_gap_ms`,
  // `seed`; for others docs/worker_protocol.md. The worker refuses a name that it does not know.
  Json options = Json::object();
  std::chrono::milliseconds deadline{300'000};
  NoiseLimits noise;
  // A series that is rejected is measured again, so often in all; series are not mixed: the first
  // that is not rejected counts, or the one whose label is surest.
  int attempts = 1;
  // The model as it was read, where the operators of the answer are to be found in it
  // (operator_match.h). Not owned; nullptr: they stay as the worker numbers them.
  const Graph* graph = nullptr;
};

// Where a Measurement keeps why its series is no label: a key of its protocol, so that stores and
// files keep it as well.
inline constexpr const char* kRejectedKey = "rejected";
// That reason; empty where the series is a label (noise.h).
[[nodiscard]] std::string rejection_of(const Measurement& measurement);

// Measures `model`, a file that the worker's runtime reads. A Result error means that the device
// does not work at all here (no worker, wrong protocol: kDeviceFailed) or that the options are
// wrong (kInvalidArgument): stop the campaign. Whatever concerns this network alone (it cannot be
// prepared, it crashed or hung the runtime, its answer made no sense) is a Measurement with `error`
// set, so that it can be stored with its reason; the next call gets a working worker. Quantities
// that the device should report and did not are in `missing` with a reason. A noisy series has
// `stationary` false, and protocol["noise"] says why; one that is unfit to be a label has a
// rejection_of(). Options that are part of the device's identity (threads, cores) belong into a
// device_variant(): given here, they are measured with, but the label is that of the device as it
// is named.
[[nodiscard]] Result<Measurement> measure(WorkerClient& worker, const DeviceDescription& device,
                                          const std::filesystem::path& model,
                                          const MeasureOptions& options = {});

// Measurement <-> JSON, for the store, files and the protocol's own tests. Missing quantities are
// null with their reason in "missing". from_json: kBadStore for a value of the wrong type.
[[nodiscard]] Json measurement_to_json(const Measurement& measurement);
[[nodiscard]] Result<Measurement> measurement_from_json(const Json& json);

}  // namespace edgesage
