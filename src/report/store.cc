#include "src/report/store.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "src/report/json_common.h"
#include "src/report/text_table.h"

namespace edgesage::report {
namespace {

std::string date(int64_t unix_ms) {
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(static_cast<std::time_t>(unix_ms / 1000)));
}

}  // namespace

std::string store_text(const StoreSummary& store) {
  std::string text =
      fmt::format("{}: schema {}, {} networks ({} share a graph with another)\n", store.file,
                  store.schema_version, grouped(store.networks), grouped(store.duplicates));
  TextTable table({"device", "runtime", "host", ">measured", ">networks", ">repeats", ">unsteady",
                   ">failed", "first (UTC)", "last (UTC)"});
  for (const StoreDevice& device : store.devices)
    table.add({device.device, device.runtime + " " + device.runtime_version,
               device.host_fingerprint.substr(0, 12), grouped(device.measured),
               grouped(device.networks), std::to_string(device.repeats), grouped(device.unsteady),
               grouped(device.failed), date(device.first_unix_ms), date(device.last_unix_ms)});
  if (!table.empty()) text += table.render("  ");
  for (const StoreFailure& failure : store.failures)
    text += fmt::format("  failed {} times on {}: {} (first: {})\n", failure.count, failure.device,
                        shown(failure.error, 200), failure.example);
  return text;
}

std::string store_json(const StoreSummary& store) {
  Json devices = Json::array();
  for (const StoreDevice& device : store.devices)
    devices.push_back({{"device", device.device},
                       {"runtime", device.runtime},
                       {"runtime_version", device.runtime_version},
                       {"host_fingerprint", text_or_null(device.host_fingerprint)},
                       {"measured", device.measured},
                       {"failed", device.failed},
                       {"networks", device.networks},
                       {"repeats", device.repeats},
                       {"unsteady", device.unsteady},
                       {"protocols", device.protocols},
                       {"first_unix_ms", device.first_unix_ms},
                       {"last_unix_ms", device.last_unix_ms}});
  Json failures = Json::array();
  for (const StoreFailure& failure : store.failures)
    failures.push_back({{"device", failure.device},
                        {"error", failure.error},
                        {"count", failure.count},
                        {"example", failure.example}});
  return to_text({{"schema_version", kSchemaVersion},
                  {"store", store.file},
                  {"store_schema", store.schema_version},
                  {"networks", store.networks},
                  {"duplicates", store.duplicates},
                  {"devices", devices},
                  {"failures", failures}},
                 2) +
         '\n';
}

std::string store_merge_text(const StoreMergeSummary& merge) {
  TextTable table({"from", ">networks", ">measurements", ">already there", ">conflicts"});
  for (const StoreMergePart& part : merge.parts)
    table.add({part.file, grouped(part.networks_added), grouped(part.measurements_added),
               grouped(part.already_there), grouped(part.conflicts)});
  std::string text = merge.file + ": added\n" + table.render("  ");
  const auto shown_value = [](const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : std::string("nothing");
  };
  for (const StoreMergePart& part : merge.parts)
    for (const StoreConflict& conflict : part.examples)
      text +=
          fmt::format("  conflict: {} of {} on {} (repeat {}) is {} here, {} in {}; ours is kept\n",
                      conflict.quantity, conflict.network, conflict.device, conflict.repeat,
                      shown_value(conflict.ours), shown_value(conflict.theirs), part.file);
  return text;
}

std::string store_merge_json(const StoreMergeSummary& merge) {
  Json parts = Json::array();
  for (const StoreMergePart& part : merge.parts) {
    Json examples = Json::array();
    for (const StoreConflict& conflict : part.examples)
      examples.push_back({{"network", conflict.network},
                          {"device", conflict.device},
                          {"host_fingerprint", text_or_null(conflict.host_fingerprint)},
                          {"repeat", conflict.repeat},
                          {"quantity", conflict.quantity},
                          {"ours", or_null(conflict.ours)},
                          {"theirs", or_null(conflict.theirs)}});
    parts.push_back({{"store", part.file},
                     {"networks_added", part.networks_added},
                     {"measurements_added", part.measurements_added},
                     {"already_there", part.already_there},
                     {"conflicts", part.conflicts},
                     {"examples", std::move(examples)}});
  }
  return to_text({{"schema_version", kSchemaVersion}, {"store", merge.file}, {"merged", parts}},
                 2) +
         '\n';
}

}  // namespace edgesage::report
