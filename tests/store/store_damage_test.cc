#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <fstream>

#include "src/base/file.h"
#include "src/base/rng.h"
#include "src/store/schema.h"
#include "src/store/store.h"
#include "tests/store/samples.h"

namespace edgesage {
namespace {

namespace fs = std::filesystem;

void make_store(const fs::path& path, int measurements) {
  auto store = Store::open(path, StoreMode::kWrite);
  ASSERT_TRUE(store) << store.error().to_string();
  Rng rng(1);
  for (int i = 0; i < measurements; ++i) {
    const auto id = store->add_network(test::sample_network(i));
    ASSERT_TRUE(id);
    ASSERT_TRUE(store->add_measurement(*id, test::sample_measurement(rng, "d"), 0));
  }
}

void change(const fs::path& path, const std::string& sql) {
  SQLite::Database database(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec(sql);
}

Error refusal(const fs::path& path, StoreMode mode) {
  const auto store = Store::open(path, mode);
  EXPECT_FALSE(store);
  return store ? Error{} : store.error();
}

TEST(StoreDamage, NewerVersionIsRefusedWithItsNumberAndTheRemedy) {
  const test::TempDir dir;
  const auto path = dir.path() / "a.db";
  make_store(path, 1);
  change(path, "PRAGMA user_version = 7");
  for (const StoreMode mode : {StoreMode::kRead, StoreMode::kWrite}) {
    const Error error = refusal(path, mode);
    EXPECT_EQ(error.code, ErrorCode::kBadStore);
    EXPECT_NE(error.message.find("version 7"), std::string::npos) << error.message;
    EXPECT_NE(error.message.find("newer edgesage"), std::string::npos) << error.message;
    EXPECT_NE(error.where.find("a.db"), std::string::npos);
  }
  change(path, "PRAGMA user_version = 0");
  EXPECT_EQ(refusal(path, StoreMode::kWrite).code, ErrorCode::kBadStore);
}

TEST(StoreDamage, FileOfAnotherProgramIsRefusedAndLeftAsItWas) {
  const test::TempDir dir;
  const auto path = dir.path() / "theirs.db";
  change(path, "CREATE TABLE songs(title TEXT); INSERT INTO songs VALUES('x')");
  const auto before = read_text(path, ErrorCode::kBadStore);
  for (const StoreMode mode : {StoreMode::kRead, StoreMode::kWrite}) {
    const Error error = refusal(path, mode);
    EXPECT_EQ(error.code, ErrorCode::kBadStore);
    EXPECT_NE(error.message.find("another program"), std::string::npos) << error.message;
  }
  EXPECT_EQ(*read_text(path, ErrorCode::kBadStore), *before);
}

TEST(StoreDamage, MissingEmptyForeignAndUnreachableFilesAreRefused) {
  const test::TempDir dir;
  const auto code = ErrorCode::kBadStore;
  EXPECT_EQ(refusal(dir.path() / "none.db", StoreMode::kRead).code, code);
  EXPECT_EQ(refusal(dir.path() / "no" / "such" / "dir.db", StoreMode::kWrite).code, code);
  EXPECT_EQ(refusal(dir.path(), StoreMode::kWrite).code, code);
  ASSERT_TRUE(write_text(dir.path() / "empty.db", ""));
  EXPECT_EQ(refusal(dir.path() / "empty.db", StoreMode::kRead).code, code);
  ASSERT_TRUE(write_text(dir.path() / "text.db", std::string(5000, 'x')));
  EXPECT_EQ(refusal(dir.path() / "text.db", StoreMode::kRead).code, code);
  EXPECT_EQ(refusal(dir.path() / "text.db", StoreMode::kWrite).code, code);
}

TEST(StoreDamage, EmptyFileIsANewStoreForWriting) {
  const test::TempDir dir;
  ASSERT_TRUE(write_text(dir.path() / "a.db", ""));
  make_store(dir.path() / "a.db", 2);
  const auto store = Store::open(dir.path() / "a.db", StoreMode::kRead);
  ASSERT_TRUE(store);
  EXPECT_EQ(store->info()->networks, 2);
}

// Whatever is wrong with the file, an answer is right or kBadStore.
void expect_honest(const fs::path& path) {
  const auto store = Store::open(path, StoreMode::kRead);
  if (!store) {
    EXPECT_EQ(store.error().code, ErrorCode::kBadStore) << store.error().to_string();
    return;
  }
  MeasurementFilter filter;
  filter.samples = filter.operators = true;
  const auto rows = store->measurements(filter);
  if (!rows) {
    EXPECT_EQ(rows.error().code, ErrorCode::kBadStore) << rows.error().to_string();
  }
  const auto info = store->info();
  if (!info) {
    EXPECT_EQ(info.error().code, ErrorCode::kBadStore) << info.error().to_string();
  }
  const Status whole = store->verify();
  if (!whole) {
    EXPECT_EQ(whole.error().code, ErrorCode::kBadStore) << whole.error().to_string();
  }
}

TEST(StoreDamage, TruncatedFileIsRefusedOrFoundDamaged) {
  const test::TempDir dir;
  const auto path = dir.path() / "a.db";
  make_store(path, 40);
  const auto whole = read_text(path, ErrorCode::kBadStore);
  ASSERT_TRUE(whole);
  const auto cut = dir.path() / "cut.db";
  for (size_t length = 1; length < whole->size(); length += 3001) {
    ASSERT_TRUE(write_text(cut, whole->substr(0, length)));
    expect_honest(cut);
    const auto store = Store::open(cut, StoreMode::kRead);
    EXPECT_FALSE(store && store->verify()) << length;
  }
}

TEST(StoreDamage, FlippedBitsNeverCrashOrPassForABug) {
  const test::TempDir dir;
  const auto path = dir.path() / "a.db";
  make_store(path, 40);
  const auto whole = read_text(path, ErrorCode::kBadStore);
  ASSERT_TRUE(whole);
  Rng rng(7);
  const auto hurt = dir.path() / "hurt.db";
  for (int round = 0; round < 200; ++round) {
    std::string bytes = *whole;
    for (int64_t n = rng.integer(1, 8); n > 0; --n) {
      const bool header = rng.chance(0.2);
      const auto last = static_cast<int64_t>(bytes.size()) - 1;
      auto& byte = bytes[static_cast<size_t>(rng.integer(0, header ? 200 : last))];
      byte = static_cast<char>(byte ^ (1 << rng.integer(0, 7)));
    }
    ASSERT_TRUE(write_text(hurt, bytes));
    expect_honest(hurt);
  }
}

TEST(StoreDamage, BlobThatDoesNotDecodeNamesItsMeasurement) {
  const test::TempDir dir;
  const auto path = dir.path() / "a.db";
  make_store(path, 3);
  change(path, "UPDATE measurements SET operators = x'0102' WHERE id = 2");
  const auto store = Store::open(path, StoreMode::kRead);
  ASSERT_TRUE(store);
  const Status status = store->verify();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kBadStore);
  EXPECT_NE(status.error().where.find("measurement 2"), std::string::npos) << status.error().where;
}

}  // namespace
}  // namespace edgesage
