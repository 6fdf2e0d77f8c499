#include "src/devices/energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/hash.h"
#include "src/base/text.h"
#include "src/base/toml.h"
#include "src/devices/placeholders.h"

namespace edgesage {
namespace {

namespace fs = std::filesystem;

constexpr double kMillijoulesOfPicojoule = 1e-9;
constexpr std::string_view kTraffic = "_traffic_bytes";

tl::unexpected<Error> bad_table(const fs::path& file, std::string message) {
  return make_error(ErrorCode::kInvalidArgument, file.string(), std::move(message));
}

Status refuse_unknown_keys(const Json& table, const std::vector<std::string>& known,
                           const fs::path& file) {
  for (const auto& [key, value] : table.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      return bad_table(file, fmt::format("unknown key {} in a table of costs; allowed: {}", key,
                                         join(known, ", ")));
  return {};
}

Result<EnergyCost> read_cost(const Json& entry, const fs::path& file) {
  if (!entry.is_object()) return bad_table(file, "cost must be an array of tables, [[cost]]");
  EDGESAGE_RETURN_IF_ERROR(refuse_unknown_keys(entry, {"quantity", "picojoules", "source"}, file));
  EnergyCost cost{json_string(entry, "quantity"), json_number(entry, "picojoules", -1),
                  json_string(entry, "source")};
  if (cost.quantity.empty() || cost.source.empty())
    return bad_table(file, "every [[cost]] needs quantity, picojoules and source");
  if (!std::isfinite(cost.picojoules) || cost.picojoules < 0)
    return bad_table(
        file, fmt::format("picojoules of {} must be a finite number, not negative", cost.quantity));
  return cost;
}

}  // namespace

Result<EnergyTable> EnergyTable::read(const fs::path& path) {
  EDGESAGE_ASSIGN_OR_RETURN(const Json json, read_toml(path, ErrorCode::kInvalidArgument));
  EDGESAGE_RETURN_IF_ERROR(
      refuse_unknown_keys(json, {"name", "description", "required", "cost"}, path));
  EnergyTable table;
  table.name = json_string(json, "name");
  table.description = json_string(json, "description");
  if (table.name.empty()) return bad_table(path, "name is missing: results say which table it was");
  if (json.contains("required")) {
    if (!json["required"].is_array()) return bad_table(path, "required must be an array of names");
    for (const Json& name : json["required"]) {
      if (!name.is_string()) return bad_table(path, "required must be an array of names");
      table.required.push_back(name.get<std::string>());
    }
  }
  if (!json.contains("cost") || !json["cost"].is_array() || json["cost"].empty())
    return bad_table(path, "has no costs: add a [[cost]] with quantity, picojoules and source");
  for (const Json& entry : json["cost"]) {
    EDGESAGE_ASSIGN_OR_RETURN(EnergyCost cost, read_cost(entry, path));
    for (const EnergyCost& other : table.costs)
      if (other.quantity == cost.quantity)
        return bad_table(path, fmt::format("{} has two costs; keep one", cost.quantity));
    table.costs.push_back(std::move(cost));
  }
  return table;
}

std::string EnergyTable::hash() const {
  Hasher hasher;
  hasher.add(name);
  for (const EnergyCost& cost : costs) {
    hasher.add(cost.quantity);
    hasher.add(cost.picojoules);
  }
  for (const std::string& quantity : required) hasher.add(quantity);
  return hasher.hex();
}

Result<double> energy_mj(const EnergyTable& table,
                         const std::map<std::string, double>& quantities) {
  const auto unknown = [&](std::string why) {
    return make_error(ErrorCode::kInvalidArgument, kEnergyQuantity, std::move(why));
  };
  for (const std::string& name : table.required)
    if (!quantities.contains(name))
      return unknown(fmt::format("{} is not known, which the table '{}' needs", name, table.name));
  double sum = 0;
  for (const EnergyCost& cost : table.costs)
    if (const auto found = quantities.find(cost.quantity); found != quantities.end())
      sum += found->second * cost.picojoules;
  for (const auto& [name, value] : quantities) {
    const auto is_cost = [&](const EnergyCost& cost) { return cost.quantity == name; };
    if (value > 0 && name.ends_with(kTraffic) && std::ranges::none_of(table.costs, is_cost))
      return unknown(fmt::format("the table '{}' has no cost of {}; add one", table.name, name));
  }
  if (!std::isfinite(sum) || sum <= 0)
    return unknown(fmt::format("the table '{}' gives {} pJ for this network", table.name, sum));
  return sum * kMillijoulesOfPicojoule;
}

Result<std::optional<EnergyTable>> energy_table_of(const DeviceDescription& device,
                                                   const DevicePlaces& places,
                                                   const fs::path& file) {
  fs::path path = file;
  if (path.empty()) {
    if (device.energy.empty()) return std::nullopt;
    EDGESAGE_ASSIGN_OR_RETURN(
        const std::string filled,
        fill_placeholders(
            device.energy, [&](std::string_view name) { return place_value(name, device, places); },
            device.file.string(), "{source_dir}, {device_dir}"));
    path = filled;
  }
  EDGESAGE_ASSIGN_OR_RETURN(EnergyTable table, EnergyTable::read(path));
  return table;
}

}  // namespace edgesage
