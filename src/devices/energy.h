// Modelled energy: a table of published costs times what a compiler counted. Labels hold only what
// the compiler said; the energy follows from table and label, and changes with the table.
//
//   EDGESAGE_ASSIGN_OR_RETURN(const EnergyTable table, EnergyTable::read(path));
//   const Result<double> energy = energy_mj(table, row.quantities);
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "edgesage/result.h"
#include "src/devices/device.h"

namespace edgesage {

// The name of the quantity: of one inference, above idle.
inline constexpr const char* kEnergyQuantity = "energy_mj";

struct EnergyCost {
  std::string quantity;   // "nn_macs", "sram_traffic_bytes", "latency_ms"
  double picojoules = 0;  // of one unit of the quantity; a milliwatt is 1e6 of latency_ms
  std::string source;     // where the figure was published
};

// Immutable after loading.
struct EnergyTable {
  std::string name;  // what results say
  std::string description;
  std::vector<EnergyCost> costs;
  std::vector<std::string> required;  // quantities without which there is no energy

  // A TOML file with `name`, `description`, `required` and [[cost]] tables of `quantity`,
  // `picojoules` and `source` (devices/energy/ethos-u.toml). kInvalidArgument naming file and key
  // for what is unknown, missing, negative or not finite, and for a quantity that comes twice.
  static Result<EnergyTable> read(const std::filesystem::path& path);

  // Of everything that the result depends on.
  [[nodiscard]] std::string hash() const;
};

// The sum of the costs, in mJ. A quantity that is absent costs nothing (the device has no such
// memory) unless it is `required`. kInvalidArgument, with the reason why the energy is not known,
// for a required quantity that is absent, for bytes moved (`*_traffic_bytes`) that the table has no
// cost for, and where the sum is not above zero. Pure; 1 us.
[[nodiscard]] Result<double> energy_mj(const EnergyTable& table,
                                       const std::map<std::string, double>& quantities);

// The device's table as described (key `energy`), or `file` in its place where that is not empty.
// nullopt: the device has none, so that its energy is what it measures itself, or not known.
[[nodiscard]] Result<std::optional<EnergyTable>> energy_table_of(
    const DeviceDescription& device, const DevicePlaces& places,
    const std::filesystem::path& file = {});

}  // namespace edgesage
