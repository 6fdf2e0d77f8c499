// Device descriptions: what can be measured, how, and what is missing here. One TOML file a family
// in `devices/`; docs/adding_a_device.md has the keys. A device is served by a worker process, or
// by commands that the description names; adding one is adding such a file.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/base/json.h"
#include "src/devices/command_description.h"

namespace edgesage {

// A file that must exist before the worker can start, and how the user gets it.
struct DeviceRequirement {
  std::string path;    // with placeholders
  std::string what;    // "ethos-u-vela 5.2.0"
  std::string remedy;  // "run ./dev setup to install ethos-u-vela 5.2.0 into .venv"
};

// One device; plain data, immutable after loading.
struct DeviceDescription {
  // "ethos-u55-256", "host-litert"; of another protocol "host-litert+threads=4" (device_variant).
  std::string name;
  std::string description;          // one line for people
  std::string family;               // "ethos-u": the name of the TOML file
  std::string runtime;              // "vela", "litert"
  std::string target;               // what to lower a Graph for: a name of src/lower/target.h
  std::vector<std::string> worker;  // argument vector with placeholders; no shell sees it
  std::shared_ptr<const CommandDescription> command;  // in place of a worker; null: a worker
  std::vector<std::string> formats;     // of files that it runs: "tflite", "onnx"; empty: any
  std::vector<std::string> quantities;  // what it can report, by the names of interfaces.md
  std::string statistic;                // the statistic that labels use: "min", "estimate"
  bool host_bound = false;  // labels depend on the machine: keyed by host fingerprint as well
  bool local = false;       // it is this computer itself
  // Table of costs that its energy is modelled with (energy.h), with placeholders; empty: none.
  std::string energy;
  // One measurement at a time: whatever has a single machine behind it.
  bool exclusive = false;
  // Options that change what a label means: another value than the default is another label.
  std::vector<std::string> identity = {"threads", "cores"};
  Json options = Json::object();  // of the worker: the described defaults, or a variant's
  Json described_options;         // of a variant: the described defaults; otherwise null
  std::vector<DeviceRequirement> requirements;
  std::filesystem::path file;  // where it was described
};

// What the placeholders {source_dir}, {worker_dir}, {python} and {site_packages} stand for;
// {device_dir} is the directory of the description itself.
struct DevicePlaces {
  std::filesystem::path
      source_dir;  // the repository, or the installed share/edgesage: workers/ is in it
  std::filesystem::path worker_dir;  // where compiled workers are: <build>/workers
  std::filesystem::path python;      // <source_dir>/.venv/bin/python when empty
};

// All devices described in some directories. Immutable; free to share between threads.
class DeviceCatalog {
 public:
  // Reads every *.toml of every directory, and every path that ends in .toml itself, in order; a
  // directory that does not exist is skipped and a name described twice is taken from the first.
  // `targets`: the allowed ones; a device without a target gets the one of its name, or "generic".
  // Without them targets are not checked. kInvalidArgument for a file that is not there or cannot
  // be understood (file, key, what is allowed) and when there is no description at all.
  static Result<DeviceCatalog> load(std::span<const std::filesystem::path> places,
                                    std::span<const std::string> targets = {});

  // By its name, or as a variant, "host-litert+threads=4". kInvalidArgument for an unknown name,
  // with the closest one and the list.
  [[nodiscard]] Result<DeviceDescription> find(std::string_view name) const;
  [[nodiscard]] const std::vector<DeviceDescription>& devices() const { return devices_; }

 private:
  std::vector<DeviceDescription> devices_;
};

// kInvalidArgument, with the remedy, where the device does not run files of this format
// (Graph::format); `where` names the file.
[[nodiscard]] Status check_format(const DeviceDescription& device, std::string_view format,
                                  const std::string& where);

// The name without what a variant adds: "host-litert" of "host-litert+threads=4".
[[nodiscard]] std::string base_name(std::string_view device);

// The device measured with `options` over its own: they become its options, and those of
// `identity` that differ from the described ones its name, so that labels of different protocols
// are never taken for each other. `cores` is brought into one form, "0-1,4". kInvalidArgument for
// options that make no sense (cores), that a command does not use, or that contradict a variant.
[[nodiscard]] Result<DeviceDescription> device_variant(const DeviceDescription& device,
                                                       const Json& options);

// "0,1,4", "0-1,4", or one number, as the sorted list of the cores. kInvalidArgument otherwise.
[[nodiscard]] Result<std::vector<int>> parse_cores(const Json& cores);
// "0-1,4"
[[nodiscard]] std::string cores_text(std::span<const int> cores);

// The value of {python}, {source_dir}, {worker_dir}, {site_packages} or {device_dir}; nullopt for
// another name.
[[nodiscard]] std::optional<std::string> place_value(std::string_view name,
                                                     const DeviceDescription& device,
                                                     const DevicePlaces& places);

// The argument vector to start, placeholders replaced; kInvalidArgument for an unknown placeholder.
[[nodiscard]] Result<std::vector<std::string>> worker_command(const DeviceDescription& device,
                                                              const DevicePlaces& places);

// Whether the device can be measured here: every requirement and every program exist. Otherwise
// kDeviceFailed naming the first thing that is missing and how to get it. Starts nothing.
[[nodiscard]] Status check_device(const DeviceDescription& device, const DevicePlaces& places);

}  // namespace edgesage
