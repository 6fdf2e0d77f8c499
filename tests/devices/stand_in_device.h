// A device of commands whose commands are stand_in.py, in a directory of its own.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "src/base/file.h"
#include "src/base/json.h"
#include "src/devices/measure.h"
#include "tests/support/test_paths.h"

namespace edgesage::test {

class StandIn {
 public:
  // `run`: TOML strings behind "run"; `more`: further TOML, `step` goes into [command.run].
  explicit StandIn(const std::string& run, const std::string& parser, const std::string& more = "",
                   const std::string& step = "timeout_s = 30") {
    std::filesystem::create_directories(remote());
    std::ofstream(toml()) << fmt::format(
        R"(kind = "command"
runtime = "stand-in"
statistic = "min"
{0}
[command]
remote_dir = "{1}"
check = [{2}, "check"]
clean = [{2}, "clean", "{{remote_model}}", "{{remote_output}}"]
push = [{2}, "push", "{{model}}", "{{remote_model}}"]
{5}
[command.run]
arguments = [{2}, "run", {3}]
{6}
[command.parser]
{4}
[[device]]
name = "stand-in"
)",
        top(more), remote().string(), program(), run, parser, commands(more), step);
  }

  Result<DeviceDescription> describe() const {
    EDGESAGE_ASSIGN_OR_RETURN(const DeviceCatalog catalog,
                              DeviceCatalog::load(std::vector{toml()}));
    return catalog.find("stand-in");
  }
  Result<Measurement> measure(const std::filesystem::path& model, MeasureOptions options = {}) {
    EDGESAGE_ASSIGN_OR_RETURN(const DeviceDescription described, describe());
    EDGESAGE_ASSIGN_OR_RETURN(const DeviceDescription device,
                              device_variant(described, options.options));
    options.options = Json::object();
    EDGESAGE_ASSIGN_OR_RETURN(WorkerClient client, WorkerClient::for_device(device, {}));
    return edgesage::measure(client, device, model, options);
  }
  // The verbs of all calls, in order.
  std::vector<std::string> verbs() const {
    std::vector<std::string> out;
    for (const Json& call : calls()) out.push_back(call["verb"].get<std::string>());
    return out;
  }
  std::vector<Json> calls() const {
    std::vector<Json> out;
    std::ifstream in(root() / "log.jsonl");
    for (std::string line; std::getline(in, line);)
      out.push_back(parse_json(line, "log", ErrorCode::kInternal).value());
    return out;
  }
  // Files left on the device.
  int left() const {
    int count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(remote()))
      ++count;
    return count;
  }
  const std::filesystem::path& root() const { return dir_.path(); }
  std::filesystem::path toml() const { return root() / "stand_in.toml"; }
  std::filesystem::path remote() const { return root() / "remote dir \xc3\xa9 'quoted'"; }
  std::string program() const {
    return fmt::format("'{}', '{}', '{}'", venv_python().value_or("python3").string(),
                       (source_dir() / "tests/devices/stand_in.py").string(), root().string());
  }

 private:
  // Lines before and after a line "--" in `more` go to the file's top and to [command].
  static std::string top(const std::string& more) { return more.substr(0, more.find("--")); }
  static std::string commands(const std::string& more) {
    const size_t at = more.find("--");
    return at == std::string::npos ? "" : more.substr(at + 2);
  }
  TempDir dir_;
};

inline const std::string kTimes = "kind = 'regex'\npattern = 'took (?<time>\\S+)'\nunit = 'ms'";

}  // namespace edgesage::test
