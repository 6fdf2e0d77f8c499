#include "src/devices/device.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "src/base/text.h"
#include "src/base/toml.h"
#include "src/devices/device_variant.h"
#include "src/devices/placeholders.h"

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

// How the devices are served: `kind`, and the worker or the commands.
Status read_kind(const Json& table, DeviceDescription& family) {
  const fs::path& file = family.file;
  const std::string kind = json_string(table, "kind", "worker");
  EDGESAGE_ASSIGN_OR_RETURN(family.worker, string_list(table, "worker", file));
  if (kind != "worker" && kind != "command")
    return bad_file(file, fmt::format("kind is '{}'; allowed: worker, command", kind));
  if (kind == "worker") {
    if (table.contains("command")) return bad_file(file, "[command] is for kind = \"command\"");
    if (family.worker.empty())
      return bad_file(
          file,
          "worker is missing: the argument vector to start, e.g. [\"{python}\", \"worker.py\"]");
    family.local = json_bool(table, "local", family.host_bound);
    family.exclusive = family.host_bound;
    return {};
  }
  if (!family.worker.empty()) return bad_file(file, "worker is for kind = \"worker\"");
  EDGESAGE_ASSIGN_OR_RETURN(CommandDescription command,
                            parse_command(table.value("command", Json()), file));
  if (family.host_bound != command.identify.exists())
    return bad_file(file,
                    family.host_bound
                        ? "host_bound needs command.identify, a program that prints what tells "
                          "this machine from others"
                        : "command.identify is for host_bound = true");
  family.local = json_bool(table, "local", false);
  family.exclusive = true;
  if (family.quantities.empty()) family.quantities = {"latency_ms"};
  family.command = std::make_shared<const CommandDescription>(std::move(command));
  return {};
}

Status check_statistic(const DeviceDescription& family) {
  static const std::vector<std::string> worker = {"min", "p10", "p50", "p90", "mean", "estimate"};
  static const std::vector<std::string> summary = {"min", "p50", "mean"};
  const bool summarised =
      family.command && family.command->parser.kind == OutputParser::Kind::kBenchmarkModel;
  const std::vector<std::string>& known = summarised ? summary : worker;
  if (std::find(known.begin(), known.end(), family.statistic) != known.end()) return {};
  return bad_file(family.file, fmt::format("statistic is '{}'; allowed: {}", family.statistic,
                                           join(known, ", ")));
}

// What the file says for all of its devices.
Result<DeviceDescription> family_of(const Json& table, const fs::path& file) {
  static const std::vector<std::string> known = {
      "kind",  "runtime",  "worker",  "command",  "quantities", "statistic", "host_bound",
      "local", "identity", "options", "requires", "device",     "energy",    "formats"};
  EDGESAGE_RETURN_IF_ERROR(refuse_unknown_keys(table, known, "the file", file));
  DeviceDescription family;
  family.file = file;
  family.family = file.stem().string();
  family.runtime = json_string(table, "runtime");
  family.statistic = json_string(table, "statistic", "p50");
  family.host_bound = json_bool(table, "host_bound", false);
  family.energy = json_string(table, "energy");
  EDGESAGE_ASSIGN_OR_RETURN(family.quantities, string_list(table, "quantities", file));
  EDGESAGE_ASSIGN_OR_RETURN(family.requirements, requirements_of(table, file));
  if (table.contains("identity")) {
    EDGESAGE_ASSIGN_OR_RETURN(family.identity, string_list(table, "identity", file));
  }
  if (table.contains("formats")) {
    EDGESAGE_ASSIGN_OR_RETURN(family.formats, string_list(table, "formats", file));
    for (const std::string& format : family.formats)
      if (format != "tflite" && format != "onnx" && format != "ncnn")
        return bad_file(file, fmt::format("formats has '{}'; allowed: tflite, onnx, ncnn", format));
  }
  if (table.contains("options")) family.options = table["options"];
  if (!family.options.is_object()) return bad_file(file, "options must be a table");
  if (family.runtime.empty()) return bad_file(file, "runtime is missing, e.g. runtime = \"vela\"");
  EDGESAGE_RETURN_IF_ERROR(read_kind(table, family));
  EDGESAGE_RETURN_IF_ERROR(check_statistic(family));
  return family;
}

// What the device is lowered for: as the file says, or by its name, or generic.
Result<std::string> target_of(const Json& table, const DeviceDescription& device,
                              std::span<const std::string> targets) {
  const auto known = [&](std::string_view name) {
    return targets.empty() || std::find(targets.begin(), targets.end(), name) != targets.end();
  };
  const std::string target = json_string(table, "target");
  if (target.empty() && known(device.name)) return device.name;
  if (target.empty() && known("generic")) return std::string("generic");
  if (!target.empty() && known(target)) return target;
  const std::string_view near = closest(target, targets);
  return bad_file(device.file,
                  fmt::format("target '{}' of {} is not known{}; allowed: {}", target, device.name,
                              near.empty() ? "" : fmt::format(", did you mean {}?", near),
                              join(targets, ", ")));
}

Result<DeviceDescription> device_of(const DeviceDescription& family, const Json& table,
                                    std::span<const std::string> targets) {
  static const std::vector<std::string> known = {"name", "description", "target", "options"};
  EDGESAGE_RETURN_IF_ERROR(refuse_unknown_keys(table, known, "[[device]]", family.file));
  DeviceDescription device = family;
  device.name = json_string(table, "name");
  device.description = json_string(table, "description");
  if (device.name.empty()) return bad_file(family.file, "a [[device]] has no name");
  if (device.name.find_first_of("+/") != std::string::npos)
    return bad_file(family.file, fmt::format("the name {} holds a + or a /", device.name));
  EDGESAGE_ASSIGN_OR_RETURN(device.target, target_of(table, device, targets));
  if (table.contains("options")) {
    if (!table["options"].is_object()) return bad_file(family.file, "options must be a table");
    device.options.update(table["options"]);
  }
  if (device.command) {
    EDGESAGE_RETURN_IF_ERROR(check_placeholders(*device.command, device.options, device.file));
  }
  return device;
}

Result<std::vector<DeviceDescription>> read_family(const fs::path& file,
                                                   std::span<const std::string> targets) {
  EDGESAGE_ASSIGN_OR_RETURN(const Json table, read_toml(file, ErrorCode::kInvalidArgument));
  EDGESAGE_ASSIGN_OR_RETURN(const DeviceDescription family, family_of(table, file));
  if (!table.contains("device") || !table["device"].is_array() || table["device"].empty())
    return bad_file(file, "describes no device: add a [[device]] with a name");
  std::vector<DeviceDescription> devices;
  for (const Json& entry : table["device"]) {
    EDGESAGE_ASSIGN_OR_RETURN(DeviceDescription device, device_of(family, entry, targets));
    devices.push_back(std::move(device));
  }
  return devices;
}

std::vector<fs::path> toml_files(const fs::path& directory) {
  if (directory.extension() == ".toml" && !fs::is_directory(directory)) return {directory};
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
  return fill_placeholders(
      text, [&](std::string_view name) { return place_value(name, device, places); },
      device.file.string(), "{python}, {source_dir}, {worker_dir}, {site_packages}, {device_dir}");
}

bool can_run(const fs::path& program) {
  if (program.string().find('/') != std::string::npos) return access(program.c_str(), X_OK) == 0;
  const char* path = std::getenv("PATH");
  for (const std::string& directory : split(path == nullptr ? "" : path, ':'))
    if (access((fs::path(directory) / program).c_str(), X_OK) == 0) return true;
  return false;
}

// The programs of the steps, as far as the places and options name them.
Status check_programs(const DeviceDescription& device, const DevicePlaces& places) {
  for (const auto& [name, step] : device.command->steps()) {
    if (!step->exists()) continue;
    bool known = true;
    const auto value = [&](std::string_view placeholder) -> std::optional<std::string> {
      if (const auto place = place_value(placeholder, device, places)) return place;
      known = known && device.options.contains(placeholder);
      return json_string(device.options, std::string(placeholder).c_str());
    };
    EDGESAGE_ASSIGN_OR_RETURN(
        const std::string program,
        fill_placeholders(step->arguments.front().parts.front(), value, device.file.string(), ""));
    if (known && !can_run(program))
      return make_error(
          ErrorCode::kDeviceFailed, device.name,
          fmt::format("the program {} of command.{} {}; install it, or correct command.{} in {}",
                      program, name,
                      program.find('/') == std::string::npos ? "is not found in PATH"
                                                             : "is not there or cannot be run",
                      name, device.file.string()));
  }
  return {};
}

}  // namespace

std::optional<std::string> place_value(std::string_view name, const DeviceDescription& device,
                                       const DevicePlaces& places) {
  if (name == "python") return python_of(places).string();
  if (name == "source_dir") return places.source_dir.string();
  if (name == "worker_dir") return places.worker_dir.string();
  if (name == "site_packages") return site_packages_of(places).string();
  if (name == "device_dir") return device.file.parent_path().string();
  return std::nullopt;
}

Result<DeviceCatalog> DeviceCatalog::load(std::span<const fs::path> directories,
                                          std::span<const std::string> targets) {
  DeviceCatalog catalog;
  for (const fs::path& directory : directories) {
    for (const fs::path& file : toml_files(directory)) {
      EDGESAGE_ASSIGN_OR_RETURN(const std::vector<DeviceDescription> family,
                                read_family(file, targets));
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
        "no device description (*.toml) here; name a file with --device-file, or their directory "
        "with --device-dir or in EDGESAGE_DEVICE_PATH");
  }
  return catalog;
}

Status check_format(const DeviceDescription& device, std::string_view format,
                    const std::string& where) {
  if (device.formats.empty() || format.empty() ||
      std::find(device.formats.begin(), device.formats.end(), format) != device.formats.end())
    return {};
  const std::string_view remedy =
      format == "onnx" ? "convert it, or take a device that runs ONNX (host-onnxruntime)"
                       : "convert it, or take a device that runs it";
  return make_error(ErrorCode::kInvalidArgument, where,
                    fmt::format("{} runs {} files, and this is {}: {}", device.name,
                                join(device.formats, ", "), format, remedy));
}

Result<DeviceDescription> DeviceCatalog::find(std::string_view name) const {
  std::vector<std::string> names;
  const std::string base = base_name(name);
  for (const DeviceDescription& device : devices_) {
    if (device.name == base) return base == name ? device : variant_of_name(device, name);
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
  if (device.command) return check_programs(device, places);
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
