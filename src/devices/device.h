// Device descriptions: what can be measured, with which worker, and what is missing here. One TOML
// file a family in `devices/`; the fields are in docs/worker_protocol.md. Adding a device that an
// existing worker can serve is adding such a file.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/base/json.h"

namespace edgesage {

// A file that must exist before the worker can start, and how the user gets it.
struct DeviceRequirement {
  std::string path;    // with placeholders
  std::string what;    // "ethos-u-vela 5.2.0"
  std::string remedy;  // "run ./dev setup to install ethos-u-vela 5.2.0 into .venv"
};

// One device; plain data, immutable after loading.
struct DeviceDescription {
  std::string name;                     // "ethos-u55-256", "host-litert"
  std::string description;              // one line for people
  std::string family;                   // "ethos-u": the name of the TOML file
  std::string runtime;                  // "vela", "litert"
  std::string target;                   // what to lower a Graph for: a name of src/lower/target.h
  std::vector<std::string> worker;      // argument vector with placeholders; no shell sees it
  std::vector<std::string> quantities;  // what it can report, by the names of interfaces.md
  std::string statistic;                // the statistic that labels use: "min", "estimate"
  bool host_bound = false;        // labels depend on the machine: keyed by host fingerprint as well
  Json options = Json::object();  // defaults of the worker's options
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
  // Reads every *.toml of every directory, in order; a directory that does not exist is skipped and
  // a name described twice is taken from the first. kInvalidArgument for a file that cannot be
  // understood (file, key, what is allowed) and when there is no description at all.
  static Result<DeviceCatalog> load(std::span<const std::filesystem::path> directories);

  // kInvalidArgument for an unknown name, with the closest one and the list.
  [[nodiscard]] Result<DeviceDescription> find(std::string_view name) const;
  [[nodiscard]] const std::vector<DeviceDescription>& devices() const { return devices_; }

 private:
  std::vector<DeviceDescription> devices_;
};

// The argument vector to start, placeholders replaced; kInvalidArgument for an unknown placeholder.
[[nodiscard]] Result<std::vector<std::string>> worker_command(const DeviceDescription& device,
                                                              const DevicePlaces& places);

// Whether the device can be measured here: every requirement and the program exist. Otherwise
// kDeviceFailed naming the first thing that is missing and how to get it. Starts nothing.
[[nodiscard]] Status check_device(const DeviceDescription& device, const DevicePlaces& places);

}  // namespace edgesage
