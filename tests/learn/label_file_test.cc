#include "src/learn/label_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/base/file.h"
#include "src/devices/measure.h"
#include "tests/store/samples.h"

namespace edgesage {
namespace {

using test::sample_measurement;
using test::sample_network;

void expect_same(const std::vector<LabelRow>& a, const std::vector<LabelRow>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].graph_hash, b[i].graph_hash);
    EXPECT_EQ(a[i].device, b[i].device);
    EXPECT_EQ(a[i].runtime, b[i].runtime);
    EXPECT_EQ(a[i].runtime_version, b[i].runtime_version);
    EXPECT_EQ(a[i].host_fingerprint, b[i].host_fingerprint);
    EXPECT_EQ(a[i].statistic, b[i].statistic);
    EXPECT_EQ(a[i].repeats, b[i].repeats);
    EXPECT_EQ(a[i].cpu_operators, b[i].cpu_operators);
    EXPECT_EQ(a[i].quantities, b[i].quantities);
    EXPECT_EQ(a[i].operator_unit, b[i].operator_unit);
    ASSERT_EQ(a[i].operators.size(), b[i].operators.size());
    for (size_t k = 0; k < a[i].operators.size(); ++k) {
      const OperatorMeasurement &x = a[i].operators[k], &y = b[i].operators[k];
      EXPECT_EQ(x.index, y.index);
      EXPECT_EQ(x.cycles, y.cycles);
      EXPECT_EQ(x.macs, y.macs);
      EXPECT_EQ(x.working_bytes, y.working_bytes);
      EXPECT_EQ(x.placement, y.placement);
    }
  }
}

// A store of `count` networks, in an order of its own.
Store make_store(const std::filesystem::path& path, int count, const std::string& device,
                 bool backwards = false) {
  auto store = Store::open(path, StoreMode::kWrite);
  EXPECT_TRUE(store);
  for (int i = 0; i < count; ++i) {
    const int number = backwards ? count - 1 - i : i;
    Rng rng(static_cast<uint64_t>(number));
    const auto id = store->add_network(sample_network(number));
    EXPECT_TRUE(store->add_measurement(*id, sample_measurement(rng, device), 0));
  }
  return std::move(*store);
}

TEST(LabelFile, ReadsBackWhatWasExported) {
  const test::TempDir dir;
  const Store store = make_store(dir.path() / "a.db", 60, "ethos-u55-256");
  auto rows = labels_of(store, {.device = "ethos-u55-256"});
  ASSERT_TRUE(rows) << rows.error().to_string();
  ASSERT_EQ(rows->size(), 60u);
  EXPECT_EQ((*rows)[9].name, "mobile-classifier/1/9");
  EXPECT_EQ((*rows)[10].name, "mobile-classifier/1/10");
  (*rows)[0].operators = {{7, 1.5, 3, 0.25, "", ""}, {3, 0, 0, 0, "cpu", ""}};
  (*rows)[1].operators = {{0, 0, 0, 0, "", ""}};
  (*rows)[2].name = "with, comma \"and quotes\"";
  const auto path = dir.path() / "a.csv.zst";
  ASSERT_TRUE(write_labels(*rows, path));
  const auto back = read_labels(path);
  ASSERT_TRUE(back) << back.error().to_string();
  expect_same(*rows, *back);
  // Plain text is read as well.
  ASSERT_TRUE(write_text(dir.path() / "a.csv", labels_to_csv(*rows)));
  const auto plain = read_labels(dir.path() / "a.csv");
  ASSERT_TRUE(plain);
  expect_same(*rows, *plain);
}

TEST(LabelFile, BytesDoNotDependOnTheOrderOfMeasuring) {
  const test::TempDir dir;
  const Store a = make_store(dir.path() / "a.db", 40, "d");
  const Store b = make_store(dir.path() / "b.db", 40, "d", /*backwards=*/true);
  ASSERT_TRUE(export_labels(a, {.device = "d"}, dir.path() / "a.zst"));
  ASSERT_TRUE(export_labels(b, {.device = "d"}, dir.path() / "b.zst"));
  EXPECT_EQ(*read_text(dir.path() / "a.zst", ErrorCode::kBadStore),
            *read_text(dir.path() / "b.zst", ErrorCode::kBadStore));
}

TEST(LabelFile, LabelIsTheMinimumOverRepeatsAndTheRestIsOfTheFastest) {
  const test::TempDir dir;
  auto store = Store::open(dir.path() / "a.db", StoreMode::kWrite);
  const auto id = store->add_network(sample_network(0));
  const double latency[] = {2.0, 1.0, 1.5}, first[] = {9.0, 8.0, 7.0};
  for (int repeat = 0; repeat < 3; ++repeat) {
    Measurement m;
    m.device = "d";
    m.quantities = {{"latency_ms", latency[repeat]},
                    {"first_latency_ms", first[repeat]},
                    {"peak_ram_bytes", 100.0 + repeat}};
    if (repeat == 0) m.quantities["load_ms"] = 3;
    m.operators = {{repeat, 1, 1, 1, "cpu", "why"}};
    ASSERT_TRUE(store->add_measurement(*id, m, repeat));
  }
  const auto rows = labels_of(*store, {.device = "d"});
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1u);
  const LabelRow& row = rows->front();
  EXPECT_EQ(row.repeats, 3);
  EXPECT_EQ(row.quantities, (std::map<std::string, double>{{"first_latency_ms", 7.0},
                                                           {"latency_ms", 1.0},
                                                           {"load_ms", 3.0},
                                                           {"peak_ram_bytes", 101.0}}));
  ASSERT_EQ(row.operators.size(), 1u);
  EXPECT_EQ(row.operators[0].index, 1);
}

TEST(LabelFile, NoiseTakesTimesAwayAndNothingElse) {
  const test::TempDir dir;
  auto store = Store::open(dir.path() / "a.db", StoreMode::kWrite);
  const auto add = [&](int network, int repeat, double arena, bool rejected) {
    const auto id = store->add_network(sample_network(network));
    Measurement m;
    m.device = "tflm";
    m.quantities = {{"latency_ms", 3.0 - repeat}, {"energy_mj", 1.0}};
    if (arena > 0) m.quantities["arena_total_bytes"] = arena;
    m.operator_unit = "ns";
    m.operators = {{0, 1, 1, 1, "", ""}};
    if (rejected) m.protocol[kRejectedKey] = "bimodal";
    ASSERT_TRUE(store->add_measurement(*id, m, repeat));
  };
  add(0, 0, 4096, true);  // an arena, and a time that is none
  add(1, 0, 2048, false);
  add(1, 1, 2048, true);  // the faster, noisy pass does not count
  add(2, 0, 0, true);     // nothing is left of it
  const auto rows = labels_of(*store, {.device = "tflm"});
  ASSERT_TRUE(rows) << rows.error().to_string();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].quantities, (std::map<std::string, double>{{"arena_total_bytes", 4096.0}}));
  EXPECT_TRUE((*rows)[0].operators.empty());
  EXPECT_EQ((*rows)[1].quantities,
            (std::map<std::string, double>{
                {"arena_total_bytes", 2048.0}, {"energy_mj", 1.0}, {"latency_ms", 3.0}}));
  EXPECT_EQ((*rows)[1].repeats, 1);
  expect_same(*rows, *labels_from_csv(labels_to_csv(*rows), "labels"));
}

TEST(LabelFile, EqualGraphsFailuresAndFilesOfUsersAreNoLabels) {
  const test::TempDir dir;
  Store store = make_store(dir.path() / "a.db", 3, "d");
  Rng rng(1);
  NetworkRecord twin = sample_network(10);
  twin.graph_hash = sample_network(1).graph_hash;
  NetworkRecord file = sample_network(11);
  file.file_name = "mine.tflite";
  for (const NetworkRecord& network : {twin, file, sample_network(12)}) {
    const auto id = store.add_network(network);
    Measurement m = sample_measurement(rng, "d");
    if (network.name == sample_network(12).name) m.error = "crashed";
    ASSERT_TRUE(store.add_measurement(*id, m, 0));
  }
  EXPECT_EQ(labels_of(store, {.device = "d"})->size(), 3u);
  const auto none = labels_of(store, {.device = "other"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kInvalidArgument);
}

TEST(LabelFile, HostsAndVersionsOfARuntimeAreNeverMixed) {
  const test::TempDir dir;
  Store store = make_store(dir.path() / "a.db", 4, "host-litert");
  Rng rng(1);
  Measurement other = sample_measurement(rng, "host-litert");
  other.host_fingerprint = "host-b";
  ASSERT_TRUE(store.add_measurement(1, other, 0));
  const auto mixed = labels_of(store, {.device = "host-litert"});
  ASSERT_FALSE(mixed);
  EXPECT_EQ(mixed.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(mixed.error().message.find("host-a, host-b"), std::string::npos);
  EXPECT_EQ(labels_of(store, {.device = "host-litert", .host_fingerprint = "host-b"})->size(), 1u);

  other.host_fingerprint = "host-a";
  other.runtime_version = "1.3";
  ASSERT_TRUE(store.add_measurement(2, other, 1));
  const LabelSelection host_a{.device = "host-litert", .host_fingerprint = "host-a"};
  EXPECT_FALSE(labels_of(store, host_a));
  LabelSelection old = host_a;
  old.runtime_version = "1.2";
  EXPECT_EQ(labels_of(store, old)->size(), 4u);
}

Error refusal(const std::string& csv) {
  const auto rows = labels_from_csv(csv, "my.csv");
  EXPECT_FALSE(rows) << csv;
  return rows ? Error{} : rows.error();
}

TEST(LabelFile, ImpossibleLabelsAreRefusedByRowNumber) {
  const std::string good = "name,device,latency_ms\na/1/1,d,1.5\n";
  ASSERT_TRUE(labels_from_csv(good, "my.csv"));
  for (const char* label : {"0", "0.0", "-0", "-1", "nan", "NaN", "inf", "-inf", "Infinity",
                            "1e-12", "1e999", "x", "1.5x", " 1", "0x1p3", "1,5"}) {
    const std::string cell = label == std::string("1,5") ? "\"1,5\"" : label;
    const Error error = refusal(good + "a/1/2,d," + cell + "\n");
    EXPECT_EQ(error.code, ErrorCode::kBadStore);
    EXPECT_EQ(error.where, "my.csv: row 2") << label;
    EXPECT_NE(error.message.find("latency_ms"), std::string::npos) << error.message;
  }
  EXPECT_TRUE(labels_from_csv(good + "a/1/2,d,\n", "my.csv"));  // not known
}

TEST(LabelFile, OtherQuantitiesMayBeZeroButNotNegative) {
  const std::string head = "name,device,sram_bytes\n";
  EXPECT_TRUE(labels_from_csv(head + "a,d,0\n", "my.csv"));
  for (const char* label : {"-1", "nan", "inf"}) refusal(head + "a,d," + label + "\n");
}

TEST(LabelFile, DamagedRowsAreRefused) {
  const std::string head =
      "name,device,operator_index,operator_cycles,operator_macs,operator_working_bytes,"
      "operator_placement\n";
  ASSERT_TRUE(labels_from_csv(head + "a,d,0-2,1 2 3,7*3,0*3,npu*2 cpu\n", "my.csv"));
  for (const char* row : {
           ",d,,,,,",
           "a,,,,,,",                        // no name, no device
           "a,d,0-2,1 2,7*3,0*3,npu*3",      // too few
           "a,d,0-2,1 2 3 4,7*3,0*3,npu*3",  // too many
           "a,d,2-0,1 2 3,7*3,0*3,npu*3",
           "a,d,-1,1,7,0,n",                      // no range
           "a,d,0-2000000000,1*3,7*3,0*3,npu*3",  // bomb
           "a,d,0-2,1*99999999999999999999,7*3,0*3,npu*3",
           "a,d,0-2,1*0,7*3,0*3,npu*3",
           "a,d,0-2,nan*3,7*3,0*3,npu*3",
           "a,d,0-2,-1*3,7*3,0*3,npu*3",
           "a,d,0-2,1*3,7.5*3,0*3,npu*3",
           "a,d,0-2,1*3,7*3,0*3,",
       }) {
    EXPECT_EQ(refusal(head + row + "\n").where, "my.csv: row 1") << row;
  }
  refusal("device,latency_ms\nd,1\n");
  refusal("");
  const Error twice = refusal("name,device,latency_ms\na,d,1\na,d,2\n");
  EXPECT_EQ(twice.where, "my.csv: row 2");
}

TEST(LabelFile, DamagedFilesAreRefused) {
  const test::TempDir dir;
  const Store store = make_store(dir.path() / "a.db", 20, "d");
  ASSERT_TRUE(export_labels(store, {.device = "d"}, dir.path() / "a.zst"));
  const auto whole = read_text(dir.path() / "a.zst", ErrorCode::kBadStore);
  const auto hurt = dir.path() / "hurt.zst";
  for (size_t length = 0; length < whole->size(); length += 97) {
    ASSERT_TRUE(write_text(hurt, whole->substr(0, length)));
    const auto rows = read_labels(hurt);
    ASSERT_FALSE(rows) << length;
    EXPECT_EQ(rows.error().code, ErrorCode::kBadStore);
  }
  EXPECT_EQ(read_labels(dir.path() / "none.zst").error().code, ErrorCode::kBadStore);
}

// Times that no clock can give in a row of labels - none, negative, no number - would end in a
// logarithm of zero. Each is refused by its row.
TEST(HostileFiles, M06_ImpossibleTimesAreRefusedByTheirRow) {
  const std::string good =
      "name,graph_hash,device,runtime,runtime_version,host_fingerprint,statistic,repeats,"
      "cpu_operators,latency_ms,operator_unit,operator_index,operator_cycles,operator_macs,"
      "operator_working_bytes,operator_placement\n"
      "a/1/1,g1,d,r,1,,min,1,0,1.5,,,,,,\n"
      "a/1/2,g2,d,r,1,,min,1,0,TIME,,,,,,\n";
  const auto with = [&](const std::string& time) {
    std::string csv = good;
    csv.replace(csv.find("TIME"), 4, time);
    return labels_from_csv(csv, "labels.csv");
  };
  ASSERT_TRUE(with("2.5")) << with("2.5").error().to_string();
  for (const char* time : {"0", "-1", "nan", "inf", "-inf", "1e-12", "1e999", "abc"}) {
    const auto labels = with(time);
    ASSERT_FALSE(labels) << time;
    EXPECT_EQ(labels.error().code, ErrorCode::kBadStore);
    EXPECT_NE(labels.error().to_string().find(" 2"), std::string::npos)
        << labels.error().to_string();
  }
}

}  // namespace
}  // namespace edgesage
