#include "src/devices/device.h"

#include <fmt/format.h>

#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "src/base/text.h"
#include "src/base/toml.h"

namespace edgesage {
namespace fs = std::filesystem;
namespace {

tl::unexpected<Error> bad_file(const fs::path& file, std::string message) {
  return make_error(ErrorCode::kInvalidArgument, file.string(), std::move(message));
}

// The strings of the array at `key`; absent is empty.
Result<std::vector<std::string>> string_list(const Json& table, const char* key,
                                             const fs::path& file) {
  std::vector<std::string> list;
  if (!table.contains(key)) return list;
  const Json& values = table[key];
  const bool strings =
      values.is_array() && std::all_of(values.begin(), values.end(),
                                       [](const Json& value) { return value.is_string(); });
  if (!strings) return bad_file(file, fmt::format("{} must be an array of strings", key));
  for (const Json& value : values) list.push_back(value.get<std::string>());
  return list;
}

Result<std::vector<DeviceRequirement>> requirements_of(const Json& table, const fs::path& file) {
  std::vector<DeviceRequirement> list;
  if (!table.contains("requires")) return list;
  const Json& entries = table["requires"];
  if (!entries.is_array())
    return bad_file(file, "requires must be an array of tables, [[requires]]");
  for (const Json& entry : entries) {
    DeviceRequirement requirement{json_string(entry, "path"), json_string(entry, "what"),
                                  json_string(entry, "remedy")};
    if (requirement.path.empty() || requirement.what.empty() || requirement.remedy.empty())
      return bad_file(file, "every [[requires]] needs path, what and remedy");
    list.push_back(std::move(requirement));
  }
  return list;
}

Status refuse_unknown_keys(const Json& table, std::span<const std::string> known,
                           std::string_view section, const fs::path& file) {
  for (const auto& [key, value] : table.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string_view near = closest(key, known);
    return bad_file(file, fmt::format("unknown key {} in {}{}; allowed: {}", key, section,
                                      near.empty() ? "" : fmt::format(", did you mean {}?", near),
                                      join(known, ", ")));
  }
  return {};
}

// What the file says for all of its devices.
Result<DeviceDescription> family_of(const Json& table, const fs::path& file) {
  static const std::vector<std::string> known = {"runtime",    "worker",  "quantities", "statistic",
                                                 "host_bound", "options", "requires",   "device"};
  EDGESAGE_RETURN_IF_ERROR(refuse_unknown_keys(table, known, "the file", file));
  DeviceDescription family;
  family.file = file;
  family.family = file.stem().string();
  family.runtime = json_string(table, "runtime");
  family.statistic = json_string(table, "statistic", "p50");
  family.host_bound = json_bool(table, "host_bound", false);
  EDGESAGE_ASSIGN_OR_RETURN(family.worker, string_list(table, "worker", file));
  EDGESAGE_ASSIGN_OR_RETURN(family.quantities, string_list(table, "quantities", file));
  EDGESAGE_ASSIGN_OR_RETURN(family.requirements, requirements_of(table, file));
  if (table.contains("options")) family.options = table["options"];
  if (!family.options.is_object()) return bad_file(file, "options must be a table");
  if (family.runtime.empty()) return bad_file(file, "runtime is missing, e.g. runtime = \"vela\"");
  if (family.worker.empty())
    return bad_file(
        file,
        "worker is missing: the argument vector to start, e.g. [\"{python}\", \"worker.py\"]");
  return family;
}

Result<DeviceDescription> device_of(const DeviceDescription& family, const Json& table) {
  static const std::vector<std::string> known = {"name", "description", "target", "options"};
  EDGESAGE_RETURN_IF_ERROR(refuse_unknown_keys(table, known, "[[device]]", family.file));
  DeviceDescription device = family;
  device.name = json_string(table, "name");
  device.description = json_string(table, "description");
  device.target = json_string(table, "target", device.name);
  if (device.name.empty()) return bad_file(family.file, "a [[device]] has no name");
  if (table.contains("options")) {
    if (!table["options"].is_object()) return bad_file(family.file, "options must be a table");
    device.options.update(table["options"]);
  }
  return device;
}

Result<std::vector<DeviceDescription>> read_family(const fs::path& file) {
  EDGESAGE_ASSIGN_OR_RETURN(const Json table, read_toml(file, ErrorCode::kInvalidArgument));
  EDGESAGE_ASSIGN_OR_RETURN(const DeviceDescription family, family_of(table, file));
  if (!table.contains("device") || !table["device"].is_array() || table["device"].empty())
    return bad_file(file, "describes no device: add a [[device]] with a name");
  std::vector<DeviceDescription> devices;
  for (const Json& entry : table["device"]) {
    EDGESAGE_ASSIGN_OR_RETURN(DeviceDescription device, device_of(family, entry));
    devices.push_back(std::move(device));
  }
  return devices;
}

std::vector<fs::path> toml_files(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".toml") files.push_back(entry->path());
  std::sort(files.begin(), files.end());
  return files;
}

fs::path python_of(const DevicePlaces& places) {
  return places.python.empty() ? places.source_dir / ".venv" / "bin" / "python" : places.python;
}

// <venv>/lib/python3.x/site-packages; where there is none yet, the path with a star, for messages.
fs::path site_packages_of(const DevicePlaces& places) {
  const fs::path lib = python_of(places).parent_path().parent_path() / "lib";
  std::error_code error;
  for (fs::directory_iterator entry(lib, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().filename().string().starts_with("python3"))
      return entry->path() / "site-packages";
  return lib / "python3.x" / "site-packages";
}

Result<std::string> fill_in(std::string_view text, const DeviceDescription& device,
                            const DevicePlaces& places) {
  std::string filled;
  size_t at = 0;
  while (at < text.size()) {
    const size_t open = text.find('{', at);
    const size_t close = open == std::string_view::npos ? open : text.find('}', open);
    if (close == std::string_view::npos) break;
    filled += text.substr(at, open - at);
    const std::string_view name = text.substr(open + 1, close - open - 1);
    if (name == "python") {
      filled += python_of(places).string();
    } else if (name == "source_dir") {
      filled += places.source_dir.string();
    } else if (name == "worker_dir") {
      filled += places.worker_dir.string();
    } else if (name == "site_packages") {
      filled += site_packages_of(places).string();
    } else if (name == "device_dir") {
      filled += device.file.parent_path().string();
    } else {
      return bad_file(
          device.file,
          fmt::format("unknown placeholder {{{}}}; allowed: {{python}}, {{source_dir}}, "
                      "{{worker_dir}}, {{site_packages}}, {{device_dir}}",
                      name));
    }
    at = close + 1;
  }
  filled += text.substr(at);
  return filled;
}

bool can_run(const fs::path& program) {
  if (program.string().find('/') != std::string::npos) return access(program.c_str(), X_OK) == 0;
  const char* path = std::getenv("PATH");
  for (const std::string& directory : split(path == nullptr ? "" : path, ':'))
    if (access((fs::path(directory) / program).c_str(), X_OK) == 0) return true;
  return false;
}

}  // namespace

Result<DeviceCatalog> DeviceCatalog::load(std::span<const fs::path> directories) {
  DeviceCatalog catalog;
  for (const fs::path& directory : directories) {
    for (const fs::path& file : toml_files(directory)) {
      EDGESAGE_ASSIGN_OR_RETURN(const std::vector<DeviceDescription> family, read_family(file));
      for (const DeviceDescription& device : family) {
        const auto same = [&](const DeviceDescription& other) { return other.name == device.name; };
        if (std::none_of(catalog.devices_.begin(), catalog.devices_.end(), same))
          catalog.devices_.push_back(device);
      }
    }
  }
  if (catalog.devices_.empty()) {
    std::vector<std::string> searched;
    for (const fs::path& directory : directories) searched.push_back(directory.string());
    return make_error(
        ErrorCode::kInvalidArgument, join(searched, ":"),
        "no device description (*.toml) here; name their directory in EDGESAGE_DEVICES");
  }
  return catalog;
}

Result<DeviceDescription> DeviceCatalog::find(std::string_view name) const {
  std::vector<std::string> names;
  for (const DeviceDescription& device : devices_) {
    if (device.name == name) return device;
    names.push_back(device.name);
  }
  const std::string_view near = closest(name, names);
  return make_error(
      ErrorCode::kInvalidArgument, "device",
      fmt::format("unknown device {}{}; known: {}", name,
                  near.empty() ? "" : fmt::format(", did you mean {}?", near), join(names, ", ")));
}

Result<std::vector<std::string>> worker_command(const DeviceDescription& device,
                                                const DevicePlaces& places) {
  std::vector<std::string> command;
  for (const std::string& argument : device.worker) {
    EDGESAGE_ASSIGN_OR_RETURN(std::string filled, fill_in(argument, device, places));
    command.push_back(std::move(filled));
  }
  return command;
}

Status check_device(const DeviceDescription& device, const DevicePlaces& places) {
  for (const DeviceRequirement& requirement : device.requirements) {
    EDGESAGE_ASSIGN_OR_RETURN(const std::string path, fill_in(requirement.path, device, places));
    if (!fs::exists(path))
      return make_error(ErrorCode::kDeviceFailed, device.name,
                        fmt::format("needs {} ({} is not there); {}", requirement.what, path,
                                    requirement.remedy));
  }
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<std::string> command, worker_command(device, places));
  if (!can_run(command.front()))
    return make_error(
        ErrorCode::kDeviceFailed, device.name,
        fmt::format(
            "its worker {} is not there or cannot be run; build it, or correct `worker` in {}",
            command.front(), device.file.string()));
  return {};
}

}  // namespace edgesage
