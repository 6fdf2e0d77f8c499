// What a store holds as a whole: counts, merging, checking.
#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "src/store/schema.h"
#include "src/store/store.h"
#include "src/store/store_impl.h"

namespace edgesage {
namespace {

constexpr const char* kGroups = R"sql(
SELECT d.name, d.runtime, d.runtime_version, m.host_fingerprint,
  sum(m.error = ''), sum(m.error <> ''), count(DISTINCT CASE WHEN m.error = '' THEN m.network END),
  max(m.repeat) + 1, sum(m.error = '' AND NOT m.stationary), count(DISTINCT m.protocol),
  min(m.time_unix_ms), max(m.time_unix_ms)
FROM measurements m JOIN devices d ON d.id = m.device
GROUP BY d.id, m.host_fingerprint ORDER BY d.name, d.runtime, d.runtime_version, 4
)sql";

constexpr const char* kFailures = R"sql(
SELECT m.device_name, m.error, count(*), min(n.name)
FROM measurements m JOIN networks n ON n.id = m.network
WHERE m.error <> '' GROUP BY m.device_name, m.error ORDER BY count(*) DESC, 1, 2
)sql";

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

int64_t count_of(SQLite::Database& db, const std::string& what) {
  return db.execAndGet("SELECT count(*) FROM " + what).getInt64();
}

MergeReport merge_attached(SQLite::Database& db) {
  MergeReport report;
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
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
  report.measurements_added = db.exec(fmt::format(
      "INSERT OR IGNORE INTO main.measurements(network, device_name, device, host_fingerprint, "
      "repeat, protocol, environment, time_unix_ms, statistic, quantities, missing, stationary, "
      "cpu_operators, operator_unit, samples, operators, error) SELECT n.id, m.device_name, d.id, "
      "m.host_fingerprint, m.repeat, p.id, e.id, m.time_unix_ms, m.statistic, m.quantities, "
      "r.id, m.stationary, m.cpu_operators, m.operator_unit, m.samples, m.operators, m.error "
      "{} {} ORDER BY m.id",
      kTheirs, kParts));
  report.already_there = count_of(db, "other.measurements") - report.measurements_added;
  transaction.commit();
  return report;
}

}  // namespace

Result<StoreInfo> Store::info() const {
  return impl_->guarded([&](SQLite::Database& db) -> Result<StoreInfo> {
    StoreInfo info;
    info.schema_version = kStoreSchemaVersion;
    info.networks = count_of(db, "networks");
    info.duplicates = count_of(db, "networks WHERE duplicate_of IS NOT NULL");
    SQLite::Statement groups(db, kGroups);
    while (groups.executeStep()) {
      StoreGroup& group = info.groups.emplace_back();
      group.device = groups.getColumn(0).getString();
      group.runtime = groups.getColumn(1).getString();
      group.runtime_version = groups.getColumn(2).getString();
      group.host_fingerprint = groups.getColumn(3).getString();
      group.measured = groups.getColumn(4).getInt64();
      group.failed = groups.getColumn(5).getInt64();
      group.networks = groups.getColumn(6).getInt64();
      group.repeats = groups.getColumn(7).getInt();
      group.unsteady = groups.getColumn(8).getInt64();
      group.protocols = groups.getColumn(9).getInt64();
      group.first_unix_ms = groups.getColumn(10).getInt64();
      group.last_unix_ms = groups.getColumn(11).getInt64();
    }
    SQLite::Statement failures(db, kFailures);
    while (failures.executeStep())
      info.failures.push_back({failures.getColumn(0).getString(), failures.getColumn(1).getString(),
                               failures.getColumn(2).getInt64(),
                               failures.getColumn(3).getString()});
    return info;
  });
}

Result<MergeReport> Store::merge(const std::filesystem::path& other) {
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
    return merge_attached(db);
  });
}

Status Store::verify() const {
  EDGESAGE_RETURN_IF_ERROR(impl_->guarded([&](SQLite::Database& db) -> Status {
    std::string found = db.execAndGet("PRAGMA integrity_check(1)").getString();
    std::ranges::replace(found, '\n', ' ');
    SQLite::Statement foreign(db, "PRAGMA foreign_key_check");
    if (found == "ok" && !foreign.executeStep()) return {};
    return make_error(ErrorCode::kBadStore, path().string(),
                      fmt::format("the integrity check says: {}; restore a copy, or save what is "
                                  "readable with 'sqlite3 FILE .recover'",
                                  found == "ok" ? "a row refers to nothing" : found));
  }));
  MeasurementFilter everything;
  everything.outcome = MeasurementFilter::Outcome::kAny;
  everything.samples = everything.operators = true;
  return for_each(everything, [](const StoredMeasurement&) -> Status { return {}; });
}

}  // namespace edgesage
