// The connection behind a Store: one SQLite handle, one lock, and the place where SQLite's
// exceptions end.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "edgesage/result.h"
#include "src/store/store.h"

namespace edgesage {

class Store::Impl {
 public:
  static Result<std::unique_ptr<Impl>> open(const std::filesystem::path& path, StoreMode mode);

  // Runs `body(database)` alone and turns what SQLite throws into an Error. `body` returns a Result
  // or a Status; a SQLite::Transaction in it is rolled back unless it was committed.
  template <class Body>
  auto guarded(Body&& body) -> decltype(body(std::declval<SQLite::Database&>())) {
    const std::scoped_lock lock(mutex_);
    try {
      return body(*database_);
    } catch (const SQLite::Exception& exception) {
      return tl::unexpected(to_error(path_, exception));
    }
  }

  // The first network that meets an SQL condition with one parameter.
  Result<std::optional<NetworkRecord>> find_network(const std::string& condition,
                                                    std::string_view value);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // "campaign.db: measurement 17", for errors.
  [[nodiscard]] std::string where(const char* what, int64_t id) const;

 private:
  explicit Impl(std::filesystem::path path) : path_(std::move(path)) {}
  static Error to_error(const std::filesystem::path& path, const SQLite::Exception& exception);
  Status connect(StoreMode mode);

  std::filesystem::path path_;
  std::mutex mutex_;
  std::unique_ptr<SQLite::Database> database_;
};

}  // namespace edgesage
