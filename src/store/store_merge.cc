// Joining stores: shards of one campaign, and campaigns of several machines.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <system_error>

#include "src/store/blobs.h"
#include "src/store/store.h"
#include "src/store/store_impl.h"

namespace edgesage {
namespace {

constexpr size_t kExamples = 10;

// Same content, same network: the columns that identify one.
constexpr const char* kSameNetwork =
    "n.name = o.name AND n.graph_hash = o.graph_hash AND n.weights_hash = o.weights_hash";

constexpr const char* kMarkDuplicates = R"sql(
UPDATE networks SET duplicate_of = (SELECT min(first.id) FROM networks first
  WHERE first.graph_hash = networks.graph_hash AND first.file_name = '')
WHERE file_name = '' AND id > (SELECT min(first.id) FROM networks first
  WHERE first.graph_hash = networks.graph_hash AND first.file_name = '')
)sql";

// Measurements of the other store beside the ids that their parts have in this one.
constexpr const char* kTheirs = R"sql(
FROM other.measurements m JOIN other.networks o ON o.id = m.network
JOIN main.networks n ON n.name = o.name AND n.graph_hash = o.graph_hash
  AND n.weights_hash = o.weights_hash
)sql";

constexpr const char* kParts = R"sql(
JOIN other.devices od ON od.id = m.device
JOIN main.devices d ON d.name = od.name AND d.runtime = od.runtime
  AND d.runtime_version = od.runtime_version
JOIN other.protocols op ON op.id = m.protocol JOIN main.protocols p ON p.hash = op.hash
JOIN other.environments oe ON oe.id = m.environment JOIN main.environments e ON e.hash = oe.hash
JOIN other.reasons oreason ON oreason.id = m.missing JOIN main.reasons r ON r.hash = oreason.hash
)sql";

// The first sampled network whose name stands for another graph in the other store.
Status check_names(SQLite::Database& db, const std::filesystem::path& other) {
  SQLite::Statement query(
      db,
      "SELECT o.name, n.graph_hash, o.graph_hash FROM other.networks o JOIN main.networks n "
      "ON n.name = o.name WHERE o.file_name = '' AND n.file_name = '' AND "
      "(n.graph_hash <> o.graph_hash OR n.weights_hash <> o.weights_hash) LIMIT 1");
  if (!query.executeStep()) return {};
  return make_error(ErrorCode::kBadStore, other.string(),
                    fmt::format("{} is graph {} here and {} there: one of the stores is of another "
                                "build of its space; they cannot be joined",
                                query.getColumn(0).getString(), query.getColumn(1).getString(),
                                query.getColumn(2).getString()));
}

bool differ(std::optional<double> a, std::optional<double> b, double tolerance) {
  if (!a || !b) return a.has_value() != b.has_value();
  return std::abs(*a - *b) > tolerance * std::max(std::abs(*a), std::abs(*b));
}

std::optional<double> value_of(const NumberMap& numbers, const std::string& name) {
  const auto found = numbers.find(name);
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

// Sets the quantity and its values where they say different things.
bool compare(const NumberMap& ours, const NumberMap& theirs, double tolerance,
             MergeConflict& conflict) {
  NumberMap all = ours;
  all.insert(theirs.begin(), theirs.end());
  for (const auto& [name, unused] : all) {
    conflict.ours = value_of(ours, name);
    conflict.theirs = value_of(theirs, name);
    conflict.quantity = name;
    if (differ(conflict.ours, conflict.theirs, tolerance)) return true;
  }
  return false;
}

// What both stores measured under one key and see differently. Texts that are equal need no look.
Status find_conflicts(SQLite::Database& db, const std::string& where, double tolerance,
                      MergeReport& report) {
  SQLite::Statement query(
      db, fmt::format("SELECT n.name, m.device_name, m.host_fingerprint, m.repeat, a.quantities, "
                      "m.quantities {} JOIN main.measurements a ON a.network = n.id AND "
                      "a.device_name = m.device_name AND a.host_fingerprint = m.host_fingerprint "
                      "AND a.repeat = m.repeat WHERE a.error = '' AND m.error = '' AND "
                      "a.quantities <> m.quantities ORDER BY m.id",
                      kTheirs));
  while (query.executeStep()) {
    EDGESAGE_ASSIGN_OR_RETURN(const NumberMap ours,
                              decode_numbers(query.getColumn(4).getString(), where));
    EDGESAGE_ASSIGN_OR_RETURN(const NumberMap theirs,
                              decode_numbers(query.getColumn(5).getString(), where));
    MergeConflict conflict{query.getColumn(0).getString(),
                           query.getColumn(1).getString(),
                           query.getColumn(2).getString(),
                           query.getColumn(3).getInt(),
                           "",
                           {},
                           {}};
    if (!compare(ours, theirs, tolerance, conflict)) continue;
    ++report.conflicts;
    if (report.examples.size() < kExamples) report.examples.push_back(std::move(conflict));
  }
  return {};
}

Result<MergeReport> merge_attached(SQLite::Database& db, const std::filesystem::path& other,
                                   double tolerance) {
  MergeReport report;
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  EDGESAGE_RETURN_IF_ERROR(check_names(db, other));
  report.networks_added = db.exec(fmt::format(
      "INSERT INTO main.networks(name, graph_hash, weights_hash, file_name, file_bytes, macs) "
      "SELECT name, graph_hash, weights_hash, file_name, file_bytes, macs FROM other.networks o "
      "WHERE NOT EXISTS (SELECT 1 FROM main.networks n WHERE {}) ORDER BY o.id",
      kSameNetwork));
  db.exec(kMarkDuplicates);
  db.exec(
      fmt::format("INSERT OR IGNORE INTO main.files(network, bytes) SELECT n.id, f.bytes FROM "
                  "other.files f JOIN other.networks o ON o.id = f.network "
                  "JOIN main.networks n ON {}",
                  kSameNetwork));
  db.exec(
      "INSERT OR IGNORE INTO main.devices(name, runtime, runtime_version) "
      "SELECT name, runtime, runtime_version FROM other.devices ORDER BY id");
  for (const char* table : {"protocols", "environments", "reasons"})
    db.exec(
        fmt::format("INSERT OR IGNORE INTO main.{0}(hash, json) "
                    "SELECT hash, json FROM other.{0} ORDER BY id",
                    table));
  // Their measurement is worth more than our failure.
  db.exec(
      fmt::format("DELETE FROM main.measurements WHERE error <> '' AND "
                  "(network, device_name, host_fingerprint, repeat) IN "
                  "(SELECT n.id, m.device_name, m.host_fingerprint, m.repeat {} "
                  "WHERE m.error = '')",
                  kTheirs));
  EDGESAGE_RETURN_IF_ERROR(find_conflicts(db, other.string(), tolerance, report));
  report.measurements_added = db.exec(fmt::format(
      "INSERT OR IGNORE INTO main.measurements(network, device_name, device, host_fingerprint, "
      "repeat, protocol, environment, time_unix_ms, statistic, quantities, missing, stationary, "
      "cpu_operators, operator_unit, samples, operators, error) SELECT n.id, m.device_name, d.id, "
      "m.host_fingerprint, m.repeat, p.id, e.id, m.time_unix_ms, m.statistic, m.quantities, "
      "r.id, m.stationary, m.cpu_operators, m.operator_unit, m.samples, m.operators, m.error "
      "{} {} ORDER BY m.id",
      kTheirs, kParts));
  report.already_there = db.execAndGet("SELECT count(*) FROM other.measurements").getInt64() -
                         report.measurements_added;
  transaction.commit();
  return report;
}

}  // namespace

Result<MergeReport> Store::merge(const std::filesystem::path& other, double tolerance) {
  // Opening it checks that it exists and has our schema.
  EDGESAGE_RETURN_IF_ERROR(Store::open(other, StoreMode::kRead));
  std::error_code ignored;
  if (std::filesystem::equivalent(path(), other, ignored))
    return make_error(ErrorCode::kInvalidArgument, other.string(),
                      "a store cannot be merged into itself; give another one");
  return impl_->guarded([&](SQLite::Database& db) -> Result<MergeReport> {
    SQLite::Statement attach(db, "ATTACH DATABASE ? AS other");
    attach.bind(1, other.string());
    attach.exec();
    struct Detach {
      SQLite::Database& db;
      ~Detach() { db.tryExec("DETACH DATABASE other"); }
    } const detach{db};
    return merge_attached(db, other, tolerance);
  });
}

}  // namespace edgesage
