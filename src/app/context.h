// Where the commands find devices and predictors, and how they report and stop. Made once by the
// program; the library reads no environment variables.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/devices/device.h"
#include "src/lower/target.h"

namespace edgesage::app {

struct Context {
  DevicePlaces places;
  // Directories with device descriptions, and single ones (*.toml); a user's first.
  std::vector<std::filesystem::path> device_directories;
  std::vector<std::filesystem::path> predictor_directories;  // a user's first

  // Called between two pieces of long work, from the thread that runs the command.
  std::function<void(int64_t done, int64_t total, std::string_view what)> progress;
  // Called with what a user should know but need not act on, e.g. that a cache is made anew.
  std::function<void(std::string_view what)> note;
  // Set by another thread or a signal: stop after the piece at hand and keep what is finished.
  const std::atomic<bool>* stop = nullptr;

  void report(int64_t done, int64_t total, std::string_view what) const {
    if (progress) progress(done, total, what);
  }
  void tell(std::string_view what) const {
    if (note) note(what);
  }
  [[nodiscard]] bool stop_wanted() const { return stop != nullptr && stop->load(); }
};

[[nodiscard]] Result<DeviceCatalog> load_devices(const Context& context);

// What `name` is lowered for: the target of a described device, or the name of a target itself.
[[nodiscard]] Result<Target> target_of(const Context& context, std::string_view name);

}  // namespace edgesage::app
