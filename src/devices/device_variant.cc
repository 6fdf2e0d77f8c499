#include "src/devices/device_variant.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "src/base/hash.h"
#include "src/base/text.h"

namespace edgesage {
namespace {

constexpr int kMaxCore = 1023;

tl::unexpected<Error> refuse(std::string where, std::string message) {
  return make_error(ErrorCode::kInvalidArgument, std::move(where), std::move(message));
}

bool read_core(std::string_view text, int& core) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), core);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() && core >= 0 &&
         core <= kMaxCore;
}

// A value as a piece of a name; what would not fit into a file's name becomes a hash.
std::string name_piece(const Json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : to_text(value);
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == ',';
  });
  if (plain) return text;
  Hasher hasher;
  hasher.add(text);
  return fmt::format("#{}", hasher.hex().substr(0, 8));
}

bool known_to_command(const DeviceDescription& device, const std::string& option) {
  if (option == "cores")
    return uses_placeholder(*device.command, "cores") ||
           uses_placeholder(*device.command, "core_mask");
  return uses_placeholder(*device.command, option);
}

Status check_options(const DeviceDescription& device, const Json& options) {
  for (const auto& [name, value] : options.items()) {
    if (!device.command) continue;
    if (!known_to_command(device, name))
      return refuse(device.name, fmt::format("its commands do not use {{{}}}: the option {} would "
                                             "have no effect; correct {}",
                                             name, name, device.file.string()));
    if (value.is_structured() || value.is_null())
      return refuse(device.name, fmt::format("the option {} is {}; allowed: a text or a number",
                                             name, to_text(value)));
  }
  return {};
}

}  // namespace

std::string base_name(std::string_view device) {
  return std::string(device.substr(0, device.find('+')));
}

Result<std::vector<int>> parse_cores(const Json& cores) {
  std::string text = cores.is_string() ? cores.get<std::string>() : to_text(cores);
  std::erase_if(text, [](char c) { return c == '[' || c == ']' || c == ' '; });
  std::vector<int> list;
  for (const std::string& range : split(text, ',')) {
    const size_t dash = range.find('-');
    int first = 0, last = 0;
    const bool read = read_core(std::string_view(range).substr(0, dash), first);
    const bool read_last = dash == std::string::npos
                               ? (last = first, true)
                               : read_core(std::string_view(range).substr(dash + 1), last);
    if (!read || !read_last || last < first)
      return refuse("cores", fmt::format("{} is no list of cores; allowed: numbers from 0 to {} "
                                         "and ranges, e.g. 0,1 or 4-7",
                                         text.empty() ? "''" : text, kMaxCore));
    for (int core = first; core <= last; ++core) list.push_back(core);
  }
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

std::string cores_text(std::span<const int> cores) {
  std::vector<std::string> ranges;
  for (size_t i = 0; i < cores.size(); ++i) {
    size_t last = i;
    while (last + 1 < cores.size() && cores[last + 1] == cores[last] + 1) ++last;
    ranges.push_back(last == i ? std::to_string(cores[i])
                               : fmt::format("{}-{}", cores[i], cores[last]));
    i = last;
  }
  return join(ranges, ",");
}

Result<DeviceDescription> device_variant(const DeviceDescription& device, const Json& options) {
  if (!options.is_object()) return refuse("options", "must be an object of the device's options");
  EDGESAGE_RETURN_IF_ERROR(check_options(device, options));
  DeviceDescription variant = device;
  variant.options.update(options);
  if (variant.options.contains("cores")) {
    EDGESAGE_ASSIGN_OR_RETURN(const auto cores, parse_cores(variant.options["cores"]));
    variant.options["cores"] = cores_text(cores);
  }
  const Json& described =
      device.described_options.is_null() ? device.options : device.described_options;
  variant.described_options = described;
  variant.name = base_name(device.name);
  for (const std::string& option : device.identity) {
    const Json value = variant.options.value(option, Json());
    if (value != described.value(option, Json()) && !value.is_null())
      variant.name += fmt::format("+{}={}", option, name_piece(value));
  }
  if (device.name.find("=#") != std::string::npos && variant.name != device.name)
    return refuse(device.name,
                  "the name of this variant does not say its options: give the device "
                  "by its own name, and the options with --option");
  return variant;
}

Result<DeviceDescription> variant_of_name(const DeviceDescription& device, std::string_view name) {
  Json options = Json::object();
  bool hashed = false;
  for (const std::string& piece : split(name.substr(device.name.size() + 1), '+')) {
    const size_t sign = piece.find('=');
    const std::string option = piece.substr(0, sign);
    const auto& identity = device.identity;
    if (sign == std::string::npos ||
        std::find(identity.begin(), identity.end(), option) == identity.end())
      return refuse("device", fmt::format("{} is no variant of {}: +{} is not known; allowed: {}",
                                          name, device.name, piece, join(identity, ", ")));
    const std::string text = piece.substr(sign + 1);
    if (text.starts_with('#')) {
      hashed = true;
      continue;
    }
    auto value = parse_json(text, option, ErrorCode::kInvalidArgument);
    options[option] = value ? std::move(*value) : Json(text);
  }
  EDGESAGE_ASSIGN_OR_RETURN(DeviceDescription variant, device_variant(device, options));
  if (hashed) variant.name = std::string(name);
  return variant;
}

}  // namespace edgesage
