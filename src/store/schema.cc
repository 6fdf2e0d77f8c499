#include "src/store/schema.h"

#include <fmt/format.h>

#include <optional>

namespace edgesage {
namespace {

constexpr const char* kTables = R"sql(
CREATE TABLE networks(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  graph_hash TEXT NOT NULL,
  weights_hash TEXT NOT NULL,
  file_name TEXT NOT NULL,
  file_bytes INTEGER NOT NULL,
  macs INTEGER,
  duplicate_of INTEGER REFERENCES networks(id),
  UNIQUE(name, graph_hash, weights_hash)) STRICT;
CREATE INDEX networks_by_graph ON networks(graph_hash);
CREATE TABLE files(
  network INTEGER PRIMARY KEY REFERENCES networks(id),
  bytes BLOB NOT NULL) STRICT;
CREATE TABLE devices(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  runtime TEXT NOT NULL,
  runtime_version TEXT NOT NULL,
  UNIQUE(name, runtime, runtime_version)) STRICT;
CREATE TABLE protocols(
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  json TEXT NOT NULL) STRICT;
CREATE TABLE environments(
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  json TEXT NOT NULL) STRICT;
CREATE TABLE reasons(
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  json TEXT NOT NULL) STRICT;
CREATE TABLE measurements(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  network INTEGER NOT NULL REFERENCES networks(id),
  device_name TEXT NOT NULL,
  device INTEGER NOT NULL REFERENCES devices(id),
  host_fingerprint TEXT NOT NULL,
  repeat INTEGER NOT NULL,
  protocol INTEGER NOT NULL REFERENCES protocols(id),
  environment INTEGER NOT NULL REFERENCES environments(id),
  time_unix_ms INTEGER NOT NULL,
  statistic TEXT NOT NULL,
  quantities TEXT NOT NULL,
  missing INTEGER NOT NULL REFERENCES reasons(id),
  stationary INTEGER NOT NULL,
  cpu_operators INTEGER NOT NULL,
  operator_unit TEXT NOT NULL,
  samples BLOB NOT NULL,
  operators BLOB NOT NULL,
  error TEXT NOT NULL,
  UNIQUE(network, device_name, host_fingerprint, repeat)) STRICT;
)sql";

Error bad_store(const std::string& where, std::string message) {
  return Error{ErrorCode::kBadStore, where, std::move(message)};
}

int32_t pragma(SQLite::Database& database, const char* name) {
  return database.execAndGet(fmt::format("PRAGMA {}", name)).getInt();
}

}  // namespace

Status prepare_schema(SQLite::Database& database, bool create, const std::string& where) {
  // Two processes may both find the file new: who looks, looks under the write lock.
  std::optional<SQLite::Transaction> transaction;
  if (create) transaction.emplace(database, SQLite::TransactionBehavior::IMMEDIATE);
  const int32_t application = pragma(database, "application_id");
  const int32_t version = pragma(database, "user_version");
  const int32_t objects = database.execAndGet("SELECT count(*) FROM sqlite_schema").getInt();
  if (application == 0 && version == 0 && objects == 0) {
    if (!create)
      return tl::unexpected(bad_store(
          where, "is empty; a store is made by 'edgesage measure' or 'edgesage annotate'"));
    database.exec(kTables);
    database.exec(fmt::format("PRAGMA application_id = {}", kStoreApplicationId));
    database.exec(fmt::format("PRAGMA user_version = {}", kStoreSchemaVersion));
    transaction->commit();
    return {};
  }
  if (application != kStoreApplicationId)
    return tl::unexpected(bad_store(
        where, "is a SQLite database of another program, not a store; give another --store"));
  if (version > kStoreSchemaVersion)
    return tl::unexpected(bad_store(
        where, fmt::format("has schema version {}; this edgesage knows versions up to {}: use a "
                           "newer edgesage, or another store",
                           version, kStoreSchemaVersion)));
  if (version < 1)
    return tl::unexpected(bad_store(
        where, fmt::format("has schema version {}; versions 1 to {} are known: the file is "
                           "damaged, restore a copy of it",
                           version, kStoreSchemaVersion)));
  return {};
}

}  // namespace edgesage
