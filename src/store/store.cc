#include "src/store/store.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "src/base/hash.h"
#include "src/base/zstd.h"
#include "src/store/blobs.h"
#include "src/store/store_impl.h"

namespace edgesage {
namespace {

constexpr size_t kFileLimit = size_t{4} << 30;
constexpr int kPage = 256;  // rows read under one lock

constexpr const char* kNetworkColumns =
    "id, name, graph_hash, weights_hash, file_name, file_bytes, macs, duplicate_of";

std::span<const std::byte> blob_of(const SQLite::Column& column) {
  return {static_cast<const std::byte*>(column.getBlob()), static_cast<size_t>(column.getBytes())};
}

// SQLite takes a null pointer for NULL; an empty blob needs an address.
void bind_blob(SQLite::Statement& statement, int index, std::span<const std::byte> bytes) {
  const void* address = bytes.empty() ? static_cast<const void*>("") : bytes.data();
  statement.bind(index, address, static_cast<int>(bytes.size()));
}

NetworkRecord read_network(SQLite::Statement& row) {
  NetworkRecord network;
  network.id = row.getColumn(0).getInt64();
  network.name = row.getColumn(1).getString();
  network.graph_hash = row.getColumn(2).getString();
  network.weights_hash = row.getColumn(3).getString();
  network.file_name = row.getColumn(4).getString();
  network.file_bytes = row.getColumn(5).getInt64();
  if (!row.isColumnNull(6)) network.macs = row.getColumn(6).getInt64();
  if (!row.isColumnNull(7)) network.duplicate_of = row.getColumn(7).getInt64();
  return network;
}

Status check_number(const std::string& where, const std::string& name, double value) {
  if (!std::isfinite(value) || value < 0 || (value == 0 && name == "latency_ms"))
    return make_error(ErrorCode::kInvalidArgument, where,
                      fmt::format("{} is {}; a figure is finite and not negative, a latency is "
                                  "above 0, and one that is not known belongs into 'missing'",
                                  name, value));
  return {};
}

Status check_measurement(const std::string& where, const Measurement& measurement) {
  if (measurement.device.empty())
    return make_error(ErrorCode::kInvalidArgument, where, "a measurement needs its device's name");
  for (const auto& [name, value] : measurement.quantities)
    EDGESAGE_RETURN_IF_ERROR(check_number(where, name, value));
  for (const double sample : measurement.samples_ms)
    EDGESAGE_RETURN_IF_ERROR(check_number(where, "a sample", sample));
  for (const OperatorMeasurement& op : measurement.operators) {
    EDGESAGE_RETURN_IF_ERROR(
        check_number(where, fmt::format("the cost of operator {}", op.index), op.cycles));
    EDGESAGE_RETURN_IF_ERROR(check_number(
        where, fmt::format("the working bytes of operator {}", op.index), op.working_bytes));
  }
  return {};
}

int64_t now_unix_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// The id of a protocol, an environment or a set of reasons, of which equal ones are stored once.
int64_t document_id(SQLite::Database& db, const char* table, const StringMap& content) {
  const std::string json = encode_texts(content);
  Hasher hasher;
  hasher.add(json);
  SQLite::Statement insert(db,
                           fmt::format("INSERT OR IGNORE INTO {}(hash, json) VALUES(?, ?)", table));
  insert.bind(1, hasher.hex());
  insert.bind(2, json);
  insert.exec();
  SQLite::Statement query(db, fmt::format("SELECT id FROM {} WHERE hash = ?", table));
  query.bind(1, hasher.hex());
  query.executeStep();
  return query.getColumn(0).getInt64();
}

int64_t device_id(SQLite::Database& db, const Measurement& measurement) {
  const char* const sql[] = {
      "INSERT OR IGNORE INTO devices(name, runtime, runtime_version) VALUES(?, ?, ?)",
      "SELECT id FROM devices WHERE name = ? AND runtime = ? AND runtime_version = ?"};
  int64_t id = 0;
  for (const char* text : sql) {
    SQLite::Statement statement(db, text);
    statement.bind(1, measurement.device);
    statement.bind(2, measurement.runtime);
    statement.bind(3, measurement.runtime_version);
    if (statement.executeStep()) id = statement.getColumn(0).getInt64();
  }
  return id;
}

struct Existing {
  int64_t id = 0;
  bool failed = false;
};

std::optional<Existing> find_existing(SQLite::Database& db, const MeasurementKey& key) {
  SQLite::Statement query(db,
                          "SELECT id, error <> '' FROM measurements WHERE network = ? AND "
                          "device_name = ? AND host_fingerprint = ? AND repeat = ?");
  query.bind(1, key.network_id);
  query.bind(2, key.device);
  query.bind(3, key.host_fingerprint);
  query.bind(4, key.repeat);
  if (!query.executeStep()) return std::nullopt;
  return Existing{query.getColumn(0).getInt64(), query.getColumn(1).getInt() != 0};
}

int32_t next_repeat(SQLite::Database& db, const MeasurementKey& key) {
  SQLite::Statement query(db,
                          "SELECT coalesce(max(repeat) + 1, 0) FROM measurements WHERE "
                          "network = ? AND device_name = ? AND host_fingerprint = ?");
  query.bind(1, key.network_id);
  query.bind(2, key.device);
  query.bind(3, key.host_fingerprint);
  query.executeStep();
  return query.getColumn(0).getInt();
}

int64_t insert_measurement(SQLite::Database& db, const MeasurementKey& key,
                           const Measurement& measurement, int64_t time_unix_ms) {
  SQLite::Statement insert(
      db,
      "INSERT INTO measurements(network, device_name, device, host_fingerprint, repeat, protocol, "
      "environment, time_unix_ms, statistic, quantities, missing, stationary, cpu_operators, "
      "operator_unit, samples, operators, error) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  int index = 0;
  insert.bind(++index, key.network_id);
  insert.bind(++index, key.device);
  insert.bind(++index, device_id(db, measurement));
  insert.bind(++index, key.host_fingerprint);
  insert.bind(++index, key.repeat);
  insert.bind(++index, document_id(db, "protocols", measurement.protocol));
  insert.bind(++index, document_id(db, "environments", measurement.environment));
  insert.bind(++index, time_unix_ms);
  insert.bind(++index, measurement.statistic);
  insert.bind(++index, encode_numbers(measurement.quantities));
  insert.bind(++index, document_id(db, "reasons", measurement.missing));
  insert.bind(++index, measurement.stationary ? 1 : 0);
  insert.bind(++index, measurement.cpu_operators);
  insert.bind(++index, measurement.operator_unit);
  bind_blob(insert, ++index, encode_samples(measurement.samples_ms));
  bind_blob(insert, ++index, encode_operators(measurement.operators));
  insert.bind(++index, measurement.error);
  insert.exec();
  return db.getLastInsertRowid();
}

constexpr const char* kMeasurementQuery =
    "SELECT m.id, m.network, n.name, n.graph_hash, n.weights_hash, m.repeat, m.time_unix_ms, "
    "d.name, d.runtime, d.runtime_version, m.host_fingerprint, m.statistic, m.quantities, "
    "r.json, m.stationary, m.cpu_operators, m.operator_unit, p.json, e.json, m.error, "
    "m.samples, m.operators "
    "FROM measurements m JOIN networks n ON n.id = m.network JOIN devices d ON d.id = m.device "
    "JOIN protocols p ON p.id = m.protocol JOIN environments e ON e.id = m.environment "
    "JOIN reasons r ON r.id = m.missing "
    "WHERE m.id > ?1 AND (?2 = '' OR m.device_name = ?2) AND "
    "(?3 = '' OR m.host_fingerprint = ?3) AND (?4 = 2 OR (m.error <> '') = ?4) "
    "ORDER BY m.id LIMIT ?5";

Result<StoredMeasurement> read_measurement(SQLite::Statement& row, const MeasurementFilter& filter,
                                           const std::string& where) {
  StoredMeasurement stored;
  Measurement& m = stored.measurement;
  stored.id = row.getColumn(0).getInt64();
  stored.network_id = row.getColumn(1).getInt64();
  stored.network_name = row.getColumn(2).getString();
  stored.graph_hash = row.getColumn(3).getString();
  stored.weights_hash = row.getColumn(4).getString();
  stored.repeat = row.getColumn(5).getInt();
  stored.time_unix_ms = row.getColumn(6).getInt64();
  m.device = row.getColumn(7).getString();
  m.runtime = row.getColumn(8).getString();
  m.runtime_version = row.getColumn(9).getString();
  m.host_fingerprint = row.getColumn(10).getString();
  m.statistic = row.getColumn(11).getString();
  EDGESAGE_ASSIGN_OR_RETURN(m.quantities, decode_numbers(row.getColumn(12).getString(), where));
  EDGESAGE_ASSIGN_OR_RETURN(m.missing, decode_texts(row.getColumn(13).getString(), where));
  m.stationary = row.getColumn(14).getInt() != 0;
  m.cpu_operators = row.getColumn(15).getInt();
  m.operator_unit = row.getColumn(16).getString();
  EDGESAGE_ASSIGN_OR_RETURN(m.protocol, decode_texts(row.getColumn(17).getString(), where));
  EDGESAGE_ASSIGN_OR_RETURN(m.environment, decode_texts(row.getColumn(18).getString(), where));
  m.error = row.getColumn(19).getString();
  if (filter.samples) {
    EDGESAGE_ASSIGN_OR_RETURN(m.samples_ms, decode_samples(blob_of(row.getColumn(20)), where));
  }
  if (filter.operators) {
    EDGESAGE_ASSIGN_OR_RETURN(m.operators, decode_operators(blob_of(row.getColumn(21)), where));
  }
  return stored;
}

}  // namespace

Result<std::optional<NetworkRecord>> Store::Impl::find_network(const std::string& condition,
                                                               std::string_view value) {
  return guarded([&](SQLite::Database& db) -> Result<std::optional<NetworkRecord>> {
    SQLite::Statement query(
        db, fmt::format("SELECT {} FROM networks WHERE {}", kNetworkColumns, condition));
    query.bind(1, std::string(value));
    if (!query.executeStep()) return std::nullopt;
    return read_network(query);
  });
}

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

const std::filesystem::path& Store::path() const { return impl_->path(); }

Result<Store> Store::open(const std::filesystem::path& path, StoreMode mode) {
  EDGESAGE_ASSIGN_OR_RETURN(auto impl, Impl::open(path, mode));
  return Store(std::move(impl));
}

Result<int64_t> Store::add_network(const NetworkRecord& network) {
  if (network.name.empty() || network.graph_hash.empty())
    return make_error(ErrorCode::kInvalidArgument, path().string(),
                      "a network needs a name and a graph hash");
  return impl_->guarded([&](SQLite::Database& db) -> Result<int64_t> {
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement query(
        db, "SELECT id FROM networks WHERE name = ? AND graph_hash = ? AND weights_hash = ?");
    query.bind(1, network.name);
    query.bind(2, network.graph_hash);
    query.bind(3, network.weights_hash);
    if (query.executeStep()) return query.getColumn(0).getInt64();
    SQLite::Statement insert(db,
                             "INSERT INTO networks(name, graph_hash, weights_hash, file_name, "
                             "file_bytes, macs, duplicate_of) VALUES(?, ?, ?, ?, ?, ?, ?)");
    insert.bind(1, network.name);
    insert.bind(2, network.graph_hash);
    insert.bind(3, network.weights_hash);
    insert.bind(4, network.file_name);
    insert.bind(5, network.file_bytes);
    if (network.macs) insert.bind(6, *network.macs);
    if (network.duplicate_of) insert.bind(7, *network.duplicate_of);
    insert.exec();
    const int64_t id = db.getLastInsertRowid();
    transaction.commit();
    return id;
  });
}

Status Store::add_file(int64_t network_id, std::span<const std::byte> bytes) {
  const std::vector<std::byte> packed = zstd_compress(bytes, 9);
  return impl_->guarded([&](SQLite::Database& db) -> Status {
    SQLite::Statement insert(db, "INSERT OR REPLACE INTO files(network, bytes) VALUES(?, ?)");
    insert.bind(1, network_id);
    bind_blob(insert, 2, packed);
    insert.exec();
    return {};
  });
}

Result<std::optional<std::string>> Store::file(int64_t network_id) const {
  return impl_->guarded([&](SQLite::Database& db) -> Result<std::optional<std::string>> {
    SQLite::Statement query(db, "SELECT bytes FROM files WHERE network = ?");
    query.bind(1, network_id);
    if (!query.executeStep()) return std::nullopt;
    EDGESAGE_ASSIGN_OR_RETURN(
        std::string bytes,
        zstd_decompress(blob_of(query.getColumn(0)), kFileLimit,
                        impl_->where("file of network", network_id), ErrorCode::kBadStore));
    return bytes;
  });
}

Result<std::optional<NetworkRecord>> Store::find_network(std::string_view name) const {
  return impl_->find_network("name = ? ORDER BY id DESC LIMIT 1", name);
}

Result<std::optional<NetworkRecord>> Store::find_graph(std::string_view graph_hash) const {
  return impl_->find_network(
      "graph_hash = ? AND duplicate_of IS NULL AND file_name = '' "
      "ORDER BY id LIMIT 1",
      graph_hash);
}

Result<std::vector<NetworkRecord>> Store::networks() const {
  return impl_->guarded([&](SQLite::Database& db) -> Result<std::vector<NetworkRecord>> {
    SQLite::Statement query(db,
                            fmt::format("SELECT {} FROM networks ORDER BY id", kNetworkColumns));
    std::vector<NetworkRecord> networks;
    while (query.executeStep()) networks.push_back(read_network(query));
    return networks;
  });
}

Result<int64_t> Store::add_measurement(int64_t network_id, const Measurement& measurement,
                                       int32_t repeat, int64_t time_unix_ms) {
  const std::string where = impl_->where("network", network_id);
  EDGESAGE_RETURN_IF_ERROR(check_measurement(where, measurement));
  if (time_unix_ms == 0) time_unix_ms = now_unix_ms();
  return impl_->guarded([&](SQLite::Database& db) -> Result<int64_t> {
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    MeasurementKey key{network_id, measurement.device, measurement.host_fingerprint, repeat};
    if (repeat < 0) key.repeat = next_repeat(db, key);
    if (const auto existing = find_existing(db, key)) {
      if (!existing->failed)
        return make_error(ErrorCode::kInvalidArgument, where,
                          fmt::format("repeat {} on {} is already measured; take another repeat",
                                      key.repeat, key.device));
      SQLite::Statement remove(db, "DELETE FROM measurements WHERE id = ?");
      remove.bind(1, existing->id);
      remove.exec();
    }
    const int64_t id = insert_measurement(db, key, measurement, time_unix_ms);
    transaction.commit();
    return id;
  });
}

Result<Store::Known> Store::find(const MeasurementKey& key) const {
  return impl_->guarded([&](SQLite::Database& db) -> Result<Known> {
    const auto existing = find_existing(db, key);
    if (!existing) return Known::kNothing;
    return existing->failed ? Known::kFailure : Known::kMeasurement;
  });
}

Status Store::for_each(const MeasurementFilter& filter,
                       const std::function<Status(const StoredMeasurement&)>& visit) const {
  int64_t last = 0;
  for (;;) {
    EDGESAGE_ASSIGN_OR_RETURN(
        const auto page,
        impl_->guarded([&](SQLite::Database& db) -> Result<std::vector<StoredMeasurement>> {
          SQLite::Statement query(db, kMeasurementQuery);
          query.bind(1, last);
          query.bind(2, filter.device);
          query.bind(3, filter.host_fingerprint);
          query.bind(4, static_cast<int>(filter.outcome));
          query.bind(5, kPage);
          std::vector<StoredMeasurement> rows;
          while (query.executeStep()) {
            const std::string where = impl_->where("measurement", query.getColumn(0).getInt64());
            EDGESAGE_ASSIGN_OR_RETURN(auto row, read_measurement(query, filter, where));
            rows.push_back(std::move(row));
          }
          return rows;
        }));
    for (const StoredMeasurement& stored : page) EDGESAGE_RETURN_IF_ERROR(visit(stored));
    if (page.size() < static_cast<size_t>(kPage)) return {};
    last = page.back().id;
  }
}

Result<std::vector<StoredMeasurement>> Store::measurements(const MeasurementFilter& filter) const {
  std::vector<StoredMeasurement> all;
  EDGESAGE_RETURN_IF_ERROR(for_each(filter, [&](const StoredMeasurement& stored) -> Status {
    all.push_back(stored);
    return {};
  }));
  return all;
}

}  // namespace edgesage
