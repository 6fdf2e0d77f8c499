#include "src/store/store_impl.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "src/store/schema.h"

namespace edgesage {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::minutes kBusyTimeout{1};

// A URI that reads a store on a medium where no lock file can be made beside it.
std::string immutable_uri(const fs::path& path) {
  std::string uri = "file:";
  for (const char c : fs::absolute(path).string()) {
    if (c == '%' || c == '?' || c == '#')
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    else
      uri += c;
  }
  return uri + "?immutable=1";
}

std::string advice(int code) {
  switch (code) {
    case SQLITE_NOTADB:
      return "not a store, or its first page is damaged; give another --store, or restore a copy";
    case SQLITE_CORRUPT:
      return "the store is damaged; restore a copy, or save what is readable with "
             "'sqlite3 FILE .recover'";
    case SQLITE_FULL:
      return "the disk is full; make room and run again, what was stored is kept";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another process has held the store for over a minute; wait for it or end it";
    case SQLITE_READONLY:
      return "the store cannot be written; check the permissions of the file and its directory";
    case SQLITE_CANTOPEN:
      return "the store cannot be opened; check that its directory exists and can be written";
    case SQLITE_IOERR:
      return "the disk failed to read or write; check it, and restore a copy if need be";
    default:
      return "the store could not be used; check it with 'edgesage store info'";
  }
}

}  // namespace

Error Store::Impl::to_error(const fs::path& path, const SQLite::Exception& exception) {
  // What SQLite says may quote the file's schema, line breaks included.
  std::string said = exception.what();
  std::ranges::replace_if(
      said, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  const int code = exception.getErrorCode() & 0xff;
  if (code == SQLITE_MISUSE || code == SQLITE_RANGE)
    return Error{ErrorCode::kInternal, path.string(), said};
  if (code == SQLITE_CONSTRAINT)
    return Error{
        ErrorCode::kInvalidArgument, path.string(),
        fmt::format("the record does not fit what is stored ({}); add its network first", said)};
  return Error{ErrorCode::kBadStore, path.string(),
               fmt::format("{} (SQLite: {})", advice(code), said)};
}

std::string Store::Impl::where(const char* what, int64_t id) const {
  return fmt::format("{}: {} {}", path_.string(), what, id);
}

Status Store::Impl::connect(StoreMode mode) {
  const bool write = mode == StoreMode::kWrite;
  const int flags = write ? SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE : SQLite::OPEN_READONLY;
  const auto timeout = static_cast<int>(std::chrono::milliseconds(kBusyTimeout).count());
  database_ = std::make_unique<SQLite::Database>(path_.string(), flags, timeout);
  if (!write) {
    try {
      database_->execAndGet("SELECT count(*) FROM sqlite_schema");
    } catch (const SQLite::Exception& exception) {
      fs::path journal = path_;
      journal += "-wal";
      const int code = exception.getErrorCode() & 0xff;
      if ((code != SQLITE_CANTOPEN && code != SQLITE_READONLY) || fs::exists(journal)) throw;
      database_ = std::make_unique<SQLite::Database>(immutable_uri(path_), flags | SQLite::OPEN_URI,
                                                     timeout);
    }
    return prepare_schema(*database_, false, path_.string());
  }
  // The check comes first: nothing is changed in a file that is not ours.
  EDGESAGE_RETURN_IF_ERROR(prepare_schema(*database_, true, path_.string()));
  database_->execAndGet("PRAGMA journal_mode = WAL");
  database_->exec("PRAGMA synchronous = FULL");
  database_->exec("PRAGMA foreign_keys = ON");
  return {};
}

Result<std::unique_ptr<Store::Impl>> Store::Impl::open(const fs::path& path, StoreMode mode) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    return make_error(ErrorCode::kBadStore, path.string(), "is a directory; give a file");
  if (mode == StoreMode::kRead && !fs::exists(path, ignored))
    return make_error(ErrorCode::kBadStore, path.string(),
                      "no such store; make one with 'edgesage measure' or 'edgesage annotate'");
  std::unique_ptr<Impl> impl(new Impl(path));
  try {
    EDGESAGE_RETURN_IF_ERROR(impl->connect(mode));
  } catch (const SQLite::Exception& exception) {
    return tl::unexpected(to_error(path, exception));
  }
  return impl;
}

}  // namespace edgesage
