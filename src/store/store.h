// The store: networks, devices, protocols and measurements in one SQLite file (docs/store.md).
//
// Durability: a call that returns success has its rows on disk (WAL, synchronous=FULL, one
// transaction a call); a process killed at any moment loses at most the call that it was in.
// Threads: every method may be called from any thread at any time; calls on one Store take turns.
// Processes: any number may read while one writes; writers wait for each other for up to a minute.
// Errors: kBadStore for a damaged file, another schema version, a full disk or a lock that is not
// released; kInvalidArgument for a record that must not be stored.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/store/records.h"

namespace edgesage {

enum class StoreMode : uint8_t {
  kRead,   // the file must exist; it is not changed
  kWrite,  // made if it does not exist
};

class Store {
 public:
  // Takes the next free repeat of the network, device and host.
  static constexpr int32_t kNextRepeat = -1;
  // What Vela differs by between two runs on one network.
  static constexpr double kMergeTolerance = 1e-4;

  // A file of a newer schema, of another program, or damaged is kBadStore, with the remedy.
  static Result<Store> open(const std::filesystem::path& path, StoreMode mode);
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  // The id of the network; one with the same name and hashes is found again, not added twice.
  [[nodiscard]] Result<int64_t> add_network(const NetworkRecord& network);
  // Keeps a user's .tflite itself (compressed), so that it can be trained on later.
  [[nodiscard]] Status add_file(int64_t network_id, std::span<const std::byte> bytes);
  // The bytes of add_file; nullopt when none are kept.
  [[nodiscard]] Result<std::optional<std::string>> file(int64_t network_id) const;
  // The network added last under this name.
  [[nodiscard]] Result<std::optional<NetworkRecord>> find_network(std::string_view name) const;
  // The first sampled network with this graph that is not itself a duplicate.
  [[nodiscard]] Result<std::optional<NetworkRecord>> find_graph(std::string_view graph_hash) const;
  [[nodiscard]] Result<std::vector<NetworkRecord>> networks() const;

  // Stores what a device said, failures (`error` not empty) included; returns the measurement's id.
  // A failure of the same key is replaced; a measurement never is: kInvalidArgument. Quantities
  // that are negative or not finite, and a latency of 0, are refused (kInvalidArgument): they
  // belong into `missing`, with a reason. `time_unix_ms` 0: now.
  [[nodiscard]] Result<int64_t> add_measurement(int64_t network_id, const Measurement& measurement,
                                                int32_t repeat = kNextRepeat,
                                                int64_t time_unix_ms = 0);
  // Whether something is stored under the key, whatever the runtime's version.
  enum class Known : uint8_t { kNothing, kFailure, kMeasurement };
  [[nodiscard]] Result<Known> find(const MeasurementKey& key) const;
  // Calls `visit` in the order of storing, until it returns an error, which is passed on. `visit`
  // may use the store. What is added meanwhile may or may not be seen.
  [[nodiscard]] Status for_each(const MeasurementFilter& filter,
                                const std::function<Status(const StoredMeasurement&)>& visit) const;
  // for_each into a vector: about 100 bytes an operator and 8 a sample when asked for.
  [[nodiscard]] Result<std::vector<StoredMeasurement>> measurements(
      const MeasurementFilter& filter) const;

  [[nodiscard]] Result<StoreInfo> info() const;
  // Takes over what another store holds and this one does not, in one transaction: all of it or, on
  // an error, nothing. Networks that turn out to have one graph are marked as duplicates of the
  // first. A key that was measured in both keeps ours; where a quantity differs by more than
  // `tolerance` (relative), that is a conflict and reported. kBadStore when a sampled network's
  // name stands for another graph there: the other store is of another build of its space.
  [[nodiscard]] Result<MergeReport> merge(const std::filesystem::path& other,
                                          double tolerance = kMergeTolerance);
  // Reads everything once: the file's own integrity check, and every record. Costs a full read.
  [[nodiscard]] Status verify() const;

  [[nodiscard]] const std::filesystem::path& path() const;

 private:
  class Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace edgesage
