#include "src/store/store.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "src/base/rng.h"
#include "tests/store/samples.h"

namespace edgesage {
namespace {

using test::sample_measurement;
using test::sample_network;

Store open_store(const std::filesystem::path& path, StoreMode mode = StoreMode::kWrite) {
  auto store = Store::open(path, mode);
  EXPECT_TRUE(store) << store.error().to_string();
  return std::move(*store);
}

void expect_same(const Measurement& a, const Measurement& b) {
  EXPECT_EQ(a.device, b.device);
  EXPECT_EQ(a.runtime, b.runtime);
  EXPECT_EQ(a.runtime_version, b.runtime_version);
  EXPECT_EQ(a.host_fingerprint, b.host_fingerprint);
  EXPECT_EQ(a.quantities, b.quantities);
  EXPECT_EQ(a.missing, b.missing);
  EXPECT_EQ(a.statistic, b.statistic);
  EXPECT_EQ(a.samples_ms, b.samples_ms);
  EXPECT_EQ(a.stationary, b.stationary);
  EXPECT_EQ(a.cpu_operators, b.cpu_operators);
  EXPECT_EQ(a.operator_unit, b.operator_unit);
  EXPECT_EQ(a.protocol, b.protocol);
  EXPECT_EQ(a.environment, b.environment);
  EXPECT_EQ(a.error, b.error);
  ASSERT_EQ(a.operators.size(), b.operators.size());
  for (size_t i = 0; i < a.operators.size(); ++i) {
    EXPECT_EQ(a.operators[i].index, b.operators[i].index);
    EXPECT_EQ(a.operators[i].cycles, b.operators[i].cycles);
    EXPECT_EQ(a.operators[i].macs, b.operators[i].macs);
    EXPECT_EQ(a.operators[i].working_bytes, b.operators[i].working_bytes);
    EXPECT_EQ(a.operators[i].placement, b.operators[i].placement);
    EXPECT_EQ(a.operators[i].placement_reason, b.operators[i].placement_reason);
  }
}

MeasurementFilter everything() {
  MeasurementFilter filter;
  filter.outcome = MeasurementFilter::Outcome::kAny;
  filter.samples = filter.operators = true;
  return filter;
}

TEST(Store, GivesBackWhatWasStoredExactly) {
  const test::TempDir dir;
  Rng rng(1);
  std::vector<Measurement> given;
  {
    Store store = open_store(dir.path() / "a.db");
    for (int i = 0; i < 600; ++i) {  // more than one page
      const auto id = store.add_network(sample_network(i));
      ASSERT_TRUE(id) << id.error().to_string();
      given.push_back(sample_measurement(rng, i % 2 == 0 ? "ethos-u55-256" : "host-litert"));
      ASSERT_TRUE(store.add_measurement(*id, given.back(), 0, 1000 + i));
    }
  }
  const Store store = open_store(dir.path() / "a.db", StoreMode::kRead);
  const auto rows = store.measurements(everything());
  ASSERT_TRUE(rows) << rows.error().to_string();
  ASSERT_EQ(rows->size(), given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    const StoredMeasurement& row = (*rows)[i];
    EXPECT_EQ(row.network_name, sample_network(static_cast<int>(i)).name);
    EXPECT_EQ(row.graph_hash, sample_network(static_cast<int>(i)).graph_hash);
    EXPECT_EQ(row.time_unix_ms, 1000 + static_cast<int64_t>(i));
    expect_same(row.measurement, given[i]);
  }
  EXPECT_TRUE(store.verify());
}

TEST(Store, SurvivesNamesWithAnyBytes) {
  const test::TempDir dir;
  Store store = open_store(dir.path() / "odd '#?% name.db");
  NetworkRecord network = sample_network(0);
  network.name = "a'b\";\n\xff\xfe--";
  const auto id = store.add_network(network);
  ASSERT_TRUE(id);
  Measurement failed;
  failed.device = "d';DROP TABLE networks;--";
  failed.error = "worker said \xff\x01\n\"nonsense\"";
  failed.environment["k\xc3"] = "\xf0";
  ASSERT_TRUE(store.add_measurement(*id, failed));
  const auto rows = store.measurements(everything());
  ASSERT_TRUE(rows) << rows.error().to_string();
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ((*rows)[0].network_name, network.name);
  EXPECT_EQ((*rows)[0].measurement.error, failed.error);
}

TEST(Store, FindsANetworkAgainInsteadOfAddingItTwice) {
  const test::TempDir dir;
  Store store = open_store(dir.path() / "a.db");
  const auto first = store.add_network(sample_network(3));
  const auto again = store.add_network(sample_network(3));
  ASSERT_TRUE(first && again);
  EXPECT_EQ(*first, *again);
  NetworkRecord changed = sample_network(3);
  changed.graph_hash = "other";
  const auto other = store.add_network(changed);
  ASSERT_TRUE(other);
  EXPECT_NE(*first, *other);
  const auto found = store.find_network(changed.name);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->id, *other);
  EXPECT_EQ((*found)->macs, changed.macs);
  EXPECT_FALSE(*store.find_network("nothing"));
  EXPECT_FALSE(store.add_network(NetworkRecord{}));
}

TEST(Store, GraphIsFoundByItsFirstNetworkThatIsNoDuplicateAndNoFile) {
  const test::TempDir dir;
  Store store = open_store(dir.path() / "a.db");
  NetworkRecord file = sample_network(0);
  file.file_name = "mine.tflite";
  ASSERT_TRUE(store.add_network(file));
  EXPECT_FALSE(*store.find_graph(file.graph_hash));
  NetworkRecord sampled = sample_network(1);
  sampled.graph_hash = file.graph_hash;
  const auto id = store.add_network(sampled);
  NetworkRecord twin = sample_network(2);
  twin.graph_hash = file.graph_hash;
  twin.duplicate_of = *id;
  ASSERT_TRUE(store.add_network(twin));
  const auto found = store.find_graph(file.graph_hash);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->name, sampled.name);
  EXPECT_EQ(store.info()->duplicates, 1);
}

TEST(Store, KeepsFilesByteForByte) {
  const test::TempDir dir;
  Store store = open_store(dir.path() / "a.db");
  const auto id = store.add_network(sample_network(0));
  EXPECT_FALSE(*store.file(*id));
  std::string bytes(100'000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * i >> 7);
  ASSERT_TRUE(store.add_file(*id, std::as_bytes(std::span(bytes))));
  const auto back = store.file(*id);
  ASSERT_TRUE(back && *back);
  EXPECT_EQ(**back, bytes);
  EXPECT_FALSE(store.add_file(99, std::as_bytes(std::span(bytes))));
}

TEST(Store, MeasuresAKeyOnceButReplacesAFailure) {
  const test::TempDir dir;
  Store store = open_store(dir.path() / "a.db");
  Rng rng(2);
  const auto id = store.add_network(sample_network(0));
  const MeasurementKey key{*id, "host-litert", "host-a", 0};
  EXPECT_EQ(*store.find(key), Store::Known::kNothing);
  Measurement failed;
  failed.device = "host-litert";
  failed.host_fingerprint = "host-a";
  failed.error = "killed by signal 11";
  ASSERT_TRUE(store.add_measurement(*id, failed, 0));
  EXPECT_EQ(*store.find(key), Store::Known::kFailure);
  EXPECT_EQ(store.info()->groups.at(0).failed, 1);

  Measurement good = sample_measurement(rng, "host-litert");
  good.host_fingerprint = "host-a";
  ASSERT_TRUE(store.add_measurement(*id, good, 0));
  EXPECT_EQ(*store.find(key), Store::Known::kMeasurement);
  const auto twice = store.add_measurement(*id, good, 0);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, ErrorCode::kInvalidArgument);
  ASSERT_TRUE(store.add_measurement(*id, good));  // next repeat
  EXPECT_EQ(*store.find({*id, "host-litert", "host-a", 1}), Store::Known::kMeasurement);
  EXPECT_EQ(*store.find({*id, "host-litert", "host-b", 0}), Store::Known::kNothing);
  const auto unknown = store.add_measurement(77, good);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kInvalidArgument);
}

TEST(Store, RefusesFiguresThatAreNone) {
  const test::TempDir dir;
  Store store = open_store(dir.path() / "a.db");
  Rng rng(2);
  const auto id = store.add_network(sample_network(0));
  const Measurement good = sample_measurement(rng, "ethos-u55-256");
  const double bad[] = {-1.0, std::nan(""), std::numeric_limits<double>::infinity()};
  for (const double value : bad) {
    Measurement m = good;
    m.quantities["sram_bytes"] = value;
    EXPECT_EQ(store.add_measurement(*id, m).error().code, ErrorCode::kInvalidArgument);
    m = good;
    m.samples_ms.push_back(value);
    EXPECT_FALSE(store.add_measurement(*id, m));
    m = good;
    m.operators.resize(1);
    m.operators[0].cycles = value;
    EXPECT_FALSE(store.add_measurement(*id, m));
  }
  Measurement m = good;
  m.quantities["latency_ms"] = 0;
  EXPECT_FALSE(store.add_measurement(*id, m));
  m = good;
  m.device.clear();
  EXPECT_FALSE(store.add_measurement(*id, m));
  m = good;
  m.quantities["dram_bytes"] = 0;  // none used: that is known
  EXPECT_TRUE(store.add_measurement(*id, m));
}

TEST(Store, FilterChoosesDeviceHostAndOutcome) {
  const test::TempDir dir;
  Store store = open_store(dir.path() / "a.db");
  Rng rng(3);
  for (int i = 0; i < 12; ++i) {
    const auto id = store.add_network(sample_network(i));
    Measurement m = sample_measurement(rng, i % 3 == 0 ? "ethos-u55-256" : "host-litert");
    m.host_fingerprint = i % 3 == 0 ? "" : (i % 3 == 1 ? "host-a" : "host-b");
    if (i >= 9) m.error = "no";
    ASSERT_TRUE(store.add_measurement(*id, m, 0, 100 + i));
  }
  const auto count = [&](const char* device, const char* host, MeasurementFilter::Outcome outcome) {
    MeasurementFilter filter;
    filter.device = device;
    filter.host_fingerprint = host;
    filter.outcome = outcome;
    const auto rows = store.measurements(filter);
    return rows ? static_cast<int>(rows->size()) : -1;
  };
  using Outcome = MeasurementFilter::Outcome;
  EXPECT_EQ(count("", "", Outcome::kAny), 12);
  EXPECT_EQ(count("", "", Outcome::kMeasured), 9);
  EXPECT_EQ(count("", "", Outcome::kFailed), 3);
  EXPECT_EQ(count("ethos-u55-256", "", Outcome::kMeasured), 3);
  EXPECT_EQ(count("host-litert", "host-a", Outcome::kMeasured), 3);
  EXPECT_EQ(count("host-litert", "host-b", Outcome::kFailed), 1);
  EXPECT_EQ(count("other", "", Outcome::kAny), 0);

  const auto info = store.info();
  ASSERT_TRUE(info);
  ASSERT_EQ(info->groups.size(), 3u);
  EXPECT_EQ(info->groups[0].device, "ethos-u55-256");
  EXPECT_EQ(info->groups[0].measured, 3);
  EXPECT_EQ(info->groups[0].failed, 1);
  EXPECT_EQ(info->groups[1].host_fingerprint, "host-a");
  EXPECT_EQ(info->groups[1].first_unix_ms, 101);
  EXPECT_EQ(info->groups[1].last_unix_ms, 110);
  EXPECT_EQ(info->groups[1].repeats, 1);
  ASSERT_EQ(info->failures.size(), 2u);
  EXPECT_EQ(info->failures[0].device, "host-litert");
  EXPECT_EQ(info->failures[0].count, 2);
}

TEST(Store, VisitorMayUseTheStoreAndStopTheVisit) {
  const test::TempDir dir;
  Store store = open_store(dir.path() / "a.db");
  Rng rng(3);
  for (int i = 0; i < 5; ++i) {
    const auto id = store.add_network(sample_network(i));
    ASSERT_TRUE(store.add_measurement(*id, sample_measurement(rng, "d"), 0));
  }
  int seen = 0;
  const Status status = store.for_each({}, [&](const StoredMeasurement& row) -> Status {
    EXPECT_TRUE(*store.find_network(row.network_name));
    if (++seen == 3) return make_error(ErrorCode::kDeviceFailed, "here", "enough");
    return {};
  });
  EXPECT_EQ(seen, 3);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "enough");
}

TEST(Store, ReadersAndWritersOfSeveralThreadsAndConnectionsSeeWholeMeasurements) {
  const test::TempDir dir;
  const auto path = dir.path() / "a.db";
  Store first = open_store(path);
  Store second = open_store(path);
  constexpr int kEach = 40;
  const auto write = [&](Store& store, int thread) {
    Rng rng(static_cast<uint64_t>(thread));
    for (int i = 0; i < kEach; ++i) {
      const auto id = store.add_network(sample_network(thread * 1000 + i));
      ASSERT_TRUE(id) << id.error().to_string();
      const auto added = store.add_measurement(*id, sample_measurement(rng, "d"), 0);
      ASSERT_TRUE(added) << added.error().to_string();
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] { write(t % 2 == 0 ? first : second, t); });
  threads.emplace_back([&] {
    const Store reader = open_store(path, StoreMode::kRead);
    size_t last = 0;
    for (int i = 0; i < 20; ++i) {
      const auto rows = reader.measurements(everything());
      ASSERT_TRUE(rows) << rows.error().to_string();
      EXPECT_GE(rows->size(), last);
      last = rows->size();
    }
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(first.info()->groups.at(0).measured, 4 * kEach);
  EXPECT_TRUE(second.verify());
}

TEST(Store, MeasurementOfSixtyOperatorsStaysBelowTwoKilobytes) {
  const test::TempDir dir;
  const auto path = dir.path() / "a.db";
  constexpr int kCount = 300;
  {
    Store store = open_store(path);
    Rng rng(5);
    for (int i = 0; i < kCount; ++i) {
      const auto id = store.add_network(sample_network(i));
      Measurement m = sample_measurement(rng, "ethos-u55-256", 60);
      m.samples_ms.clear();
      ASSERT_TRUE(store.add_measurement(*id, m, 0));
    }
  }
  const auto bytes = std::filesystem::file_size(path);
  RecordProperty("bytes_a_measurement", static_cast<int>(bytes / kCount));
  EXPECT_LT(bytes / kCount, 2000u);  // with its network, indexes and texts
}

TEST(Store, MergeTakesOverWhatIsNew) {
  const test::TempDir dir;
  Store a = open_store(dir.path() / "a.db");
  Rng rng(6);
  const auto add = [&](Store& store, int network, int repeat, const char* error) {
    const auto id = store.add_network(sample_network(network));
    Measurement m = sample_measurement(rng, "host-litert");
    m.error = error;
    ASSERT_TRUE(store.add_measurement(*id, m, repeat));
  };
  add(a, 0, 0, "");
  add(a, 1, 0, "crashed");
  {
    Store b = open_store(dir.path() / "b.db");
    add(b, 7, 0, "");  // ids differ between the stores
    add(b, 1, 0, "");
    add(b, 0, 0, "");
    add(b, 0, 1, "");
    NetworkRecord twin = sample_network(8);
    twin.graph_hash = sample_network(0).graph_hash;
    const auto id = b.add_network(twin);
    const std::string bytes = "TFL3";
    ASSERT_TRUE(b.add_file(*id, std::as_bytes(std::span(bytes))));
  }
  const auto report = a.merge(dir.path() / "b.db");
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(report->networks_added, 2);
  EXPECT_EQ(report->measurements_added, 3);
  EXPECT_EQ(report->already_there, 1);
  const auto rows = a.measurements(everything());
  ASSERT_TRUE(rows);
  std::vector<std::string> names;
  for (const auto& row : *rows) {
    EXPECT_EQ(row.measurement.error, "");
    names.push_back(row.network_name + "/" + std::to_string(row.repeat));
  }
  std::sort(names.begin(), names.end());
  const auto name = [](int i) { return sample_network(i).name; };
  EXPECT_EQ(names, (std::vector<std::string>{name(0) + "/0", name(0) + "/1", name(1) + "/0",
                                             name(7) + "/0"}));
  const auto twin = a.find_network(name(8));
  ASSERT_TRUE(twin && *twin);
  EXPECT_EQ((*twin)->duplicate_of, (*a.find_network(name(0)))->id);
  EXPECT_EQ(**a.file((*twin)->id), "TFL3");

  const auto again = a.merge(dir.path() / "b.db");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->networks_added, 0);
  EXPECT_EQ(again->measurements_added, 0);
  EXPECT_EQ(a.merge(dir.path() / "a.db").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(a.merge(dir.path() / "none.db").error().code, ErrorCode::kBadStore);
  EXPECT_TRUE(a.verify());
}

// A store with one network measured on some devices.
void fill(const std::filesystem::path& path, const NetworkRecord& network,
          const std::vector<Measurement>& measurements) {
  Store store = open_store(path);
  const auto id = store.add_network(network);
  for (const Measurement& m : measurements) ASSERT_TRUE(store.add_measurement(*id, m, 0));
}

TEST(Store, MergeReportsWhatWasMeasuredTwiceWithAnotherResult) {
  const test::TempDir dir;
  Rng rng(9);
  Measurement same = sample_measurement(rng, "a"), near = sample_measurement(rng, "b"),
              far = sample_measurement(rng, "c"), gone = sample_measurement(rng, "d");
  const NetworkRecord network = sample_network(0);
  fill(dir.path() / "ours.db", network, {same, near, far, gone});
  near.quantities["latency_ms"] *= 1 + 5e-5;
  far.quantities["sram_bytes"] += 1 + 0.01 * far.quantities["sram_bytes"];
  gone.quantities.erase("cycles_total");
  fill(dir.path() / "theirs.db", network, {same, near, far, gone});
  Store ours = open_store(dir.path() / "ours.db");
  const auto report = ours.merge(dir.path() / "theirs.db");
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(report->measurements_added, 0);
  EXPECT_EQ(report->already_there, 4);
  EXPECT_EQ(report->conflicts, 2);
  ASSERT_EQ(report->examples.size(), 2u);
  EXPECT_EQ(report->examples[0].device, "c");
  EXPECT_EQ(report->examples[0].quantity, "sram_bytes");
  EXPECT_EQ(report->examples[0].theirs, far.quantities["sram_bytes"]);
  EXPECT_EQ(report->examples[1].quantity, "cycles_total");
  EXPECT_FALSE(report->examples[1].theirs);
  // Ours are kept.
  EXPECT_NE(ours.measurements(everything())->at(2).measurement.quantities, far.quantities);
}

TEST(Store, MergeKeepsMachinesApart) {
  const test::TempDir dir;
  Rng rng(10);
  Measurement here = sample_measurement(rng, "host-litert"), there = here;
  there.host_fingerprint = "host-b";
  there.quantities["latency_ms"] *= 2;
  fill(dir.path() / "here.db", sample_network(0), {here});
  fill(dir.path() / "there.db", sample_network(0), {there});
  Store store = open_store(dir.path() / "here.db");
  const auto report = store.merge(dir.path() / "there.db");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->measurements_added, 1);
  EXPECT_EQ(report->conflicts, 0);
  const auto info = store.info();
  ASSERT_TRUE(info);
  ASSERT_EQ(info->groups.size(), 2u);
  EXPECT_EQ(info->groups[0].host_fingerprint, "host-a");
  EXPECT_EQ(info->groups[1].host_fingerprint, "host-b");
}

TEST(Store, MergeOfAnotherBuildOfASpaceChangesNothing) {
  const test::TempDir dir;
  Rng rng(11);
  fill(dir.path() / "ours.db", sample_network(0), {sample_measurement(rng, "a")});
  NetworkRecord rebuilt = sample_network(0);
  rebuilt.graph_hash = "another";
  fill(dir.path() / "theirs.db", rebuilt, {sample_measurement(rng, "a")});
  Store store = open_store(dir.path() / "ours.db");
  const auto report = store.merge(dir.path() / "theirs.db");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kBadStore);
  EXPECT_NE(report.error().message.find(rebuilt.name), std::string::npos);
  EXPECT_EQ(store.networks()->size(), 1u);
  EXPECT_EQ(store.measurements(everything())->size(), 1u);
}

}  // namespace
}  // namespace edgesage
