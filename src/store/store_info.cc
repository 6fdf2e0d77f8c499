// What a store holds as a whole: counts, checking.
#include <fmt/format.h>

#include <algorithm>

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

int64_t count_of(SQLite::Database& db, const std::string& what) {
  return db.execAndGet("SELECT count(*) FROM " + what).getInt64();
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
