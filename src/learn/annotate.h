// Annotation: builds sampled networks, measures them on devices and stores what the devices say.
//
// What is stored is skipped, so that a campaign that was stopped or killed goes on where it was;
// networks whose graph another network already has are recorded as its duplicates and not measured;
// failures are stored with their reason. A device is measured in passes over the whole list: a pass
// has worker processes of its own, so that repeats of one network lie far apart in time. Networks
// are built by a thread of their own, a bounded number ahead.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "edgesage/result.h"
#include "src/devices/device.h"
#include "src/devices/measure.h"
#include "src/graph/graph.h"
#include "src/store/store.h"

namespace edgesage {

class ModelLibrary;

// One worker of a device, used by one thread at a time.
class Measurer {
 public:
  virtual ~Measurer() = default;
  // What the labels are keyed by beside the device; empty where they do not depend on the machine.
  [[nodiscard]] virtual std::string host_fingerprint() const = 0;
  // An error ends the campaign; whatever concerns this network alone is a Measurement with `error`.
  [[nodiscard]] virtual Result<Measurement> measure(const std::filesystem::path& model) = 0;
};

struct AnnotateDevice {
  std::string name;
  int workers = 1;
  int repeats = 1;
  // Nothing is built while a network is measured: for devices that are this machine.
  bool quiet = false;
  // Starts one worker.
  std::function<Result<std::unique_ptr<Measurer>>()> open;
};

// A described device. Devices that are this machine are quiet and have one worker, whatever
// `workers` says. kDeviceFailed when the device cannot be measured here, with the remedy.
[[nodiscard]] Result<AnnotateDevice> annotate_device(const DeviceDescription& device,
                                                     const DevicePlaces& places,
                                                     const MeasureOptions& options, int workers,
                                                     int repeats);

// Names of networks: `count` seeds from `first_seed` of each space (its newest version), spaces
// taking turns; of these, every `shards`-th from `shard` on. The space "mutation" draws from
// `models`, or from default_model_library(). kInvalidArgument for unknown spaces, none at all, a
// shard outside 0..shards-1, and mutations without files.
[[nodiscard]] Result<std::vector<std::string>> sample_names(std::span<const std::string> spaces,
                                                            uint64_t first_seed, uint64_t count,
                                                            int shard = 0, int shards = 1,
                                                            const ModelLibrary* models = nullptr);

struct AnnotateProgress {
  std::string device;
  int pass = 0, passes = 1;  // of this device, from 0
  int64_t total = 0;         // names in this pass
  int64_t done = 0;          // of them measured, failed, duplicates, passed over or stored before
  int64_t failed = 0;        // in this run
  double per_second = 0;     // measured and failed in this run; 0: none yet
  double seconds_left = 0;   // of this pass; 0: not known
};

struct AnnotateOptions {
  std::vector<AnnotateDevice> devices;
  std::filesystem::path work_dir;           // for the files being measured; empty: the system's
  int ahead = 16;                           // networks that may be built and not yet measured
  bool retry_failures = false;              // measure again what failed before
  const std::atomic<bool>* stop = nullptr;  // set it to end soon, with everything kept
  // By name; left out: build_network.
  std::function<Result<Graph>(const std::string& name)> build;
  // Networks that it says no to are passed over: neither measured nor stored. Called from several
  // threads. Left out: all.
  std::function<bool(const Graph& graph)> accept;
  // Of a name, the user's file that is measured as it is; empty, or left out: the network is
  // written as .tflite.
  std::function<std::filesystem::path(const std::string& name)> file;
};

struct AnnotatePass {
  std::string device, host_fingerprint;
  int repeat = 0;
  int workers = 1;
  int64_t names = 0;
  int64_t measured = 0;     // in this run, without failures
  int64_t failed = 0;       // in this run
  int64_t already = 0;      // stored before
  int64_t duplicates = 0;   // of networks measured under another name
  int64_t passed_over = 0;  // by AnnotateOptions::accept
  double seconds = 0;
  double worker_seconds = 0;  // summed over the workers: waiting for answers
  double build_seconds = 0;   // making the files
  // Processor time: of this process, and of the workers' processes, which have ended by then; 0
  // where the workers are no processes.
  double own_cpu_seconds = 0, worker_cpu_seconds = 0;
};

struct AnnotateReport {
  std::vector<AnnotatePass> passes;
  bool stopped = false;  // by `stop`, before the end
};

// Progress is reported on the calling thread, after each network. Errors: of the store, of a device
// that does not work, and kBadStore when a stored network is built differently today. Everything
// measured before an error is stored.
[[nodiscard]] Result<AnnotateReport> annotate(
    Store& store, std::span<const std::string> names, const AnnotateOptions& options,
    const std::function<void(const AnnotateProgress&)>& progress = {});

}  // namespace edgesage
