#include "src/learn/annotate.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "src/base/file.h"
#include "src/graph/builder.h"
#include "src/io/tflite_writer.h"
#include "src/learn/channel_multiple.h"
#include "src/spaces/model_library.h"
#include "src/spaces/space.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

namespace fs = std::filesystem;

int64_t number_of(const std::string& name) { return std::stoll(name.substr(name.rfind('/') + 1)); }

// A network whose size is its number modulo `graphs`, so that later ones repeat earlier ones.
Result<Graph> tiny(const std::string& name, int64_t graphs) {
  GraphBuilder net({.name = name, .fill = {}, .seed = static_cast<uint64_t>(number_of(name))});
  const auto x = net.input("x", {1, 8});
  return net.finish({net.fully_connected(x, {.units = 1 + number_of(name) % graphs})});
}

std::vector<std::string> names_up_to(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("tiny/1/" + std::to_string(i));
  return names;
}

// A device in this process, and what happened on it.
struct FakeDevice {
  std::mutex mutex;
  int opened = 0;
  int measured = 0;
  int busy = 0;  // measurements under way
  std::vector<std::string> files;
  std::function<Result<Measurement>(const std::string& file)> answer;

  AnnotateDevice device(const std::string& name, int workers = 1, int repeats = 1) {
    AnnotateDevice made;
    made.name = name;
    made.workers = workers;
    made.repeats = repeats;
    made.open = [this]() -> Result<std::unique_ptr<Measurer>> {
      const std::scoped_lock lock(mutex);
      ++opened;
      return std::make_unique<Worker>(*this);
    };
    return made;
  }

  class Worker : public Measurer {
   public:
    explicit Worker(FakeDevice& fake) : fake_(fake) {}
    [[nodiscard]] std::string host_fingerprint() const override { return "host-a"; }
    [[nodiscard]] Result<Measurement> measure(const fs::path& model) override {
      EXPECT_GT(fs::file_size(model), 100u);
      {
        const std::scoped_lock lock(fake_.mutex);
        ++fake_.busy;
        ++fake_.measured;
        fake_.files.push_back(model.filename().string());
      }
      std::this_thread::sleep_for(std::chrono::microseconds(300));
      auto result = fake_.answer ? fake_.answer(model.filename().string()) : good(1.0);
      const std::scoped_lock lock(fake_.mutex);
      --fake_.busy;
      return result;
    }

   private:
    FakeDevice& fake_;
  };

  static Measurement good(double latency_ms) {
    Measurement m;
    m.device = "whatever the worker says";
    m.runtime = "fake";
    m.quantities["latency_ms"] = latency_ms;
    m.statistic = "min";
    return m;
  }
};

struct Campaign {
  explicit Campaign(const fs::path& path) : store(open(path)) {
    options.work_dir = path.parent_path() / "work";
    options.build = [](const std::string& name) { return tiny(name, 1000); };
  }
  static Store open(const fs::path& path) {
    auto store = Store::open(path, StoreMode::kWrite);
    EXPECT_TRUE(store);
    return std::move(*store);
  }
  AnnotateReport run(const std::vector<std::string>& names) {
    const auto report = annotate(store, names, options);
    EXPECT_TRUE(report) << report.error().to_string();
    return report ? *report : AnnotateReport{};
  }
  // "name device, repeat" -> error, of everything stored.
  std::map<std::string, std::string> stored() {
    std::map<std::string, std::string> found;
    MeasurementFilter filter;
    filter.outcome = MeasurementFilter::Outcome::kAny;
    const auto rows = store.measurements(filter);
    EXPECT_TRUE(rows);
    for (const auto& row : *rows)
      found[row.network_name + " " + row.measurement.device + std::to_string(row.repeat)] =
          row.measurement.error;
    return found;
  }

  Store store;
  AnnotateOptions options;
};

TEST(Annotate, MeasuresEveryNetworkOnEveryDeviceAndCleansUp) {
  const test::TempDir dir;
  Campaign campaign(dir.path() / "a.db");
  FakeDevice npu, host;
  campaign.options.devices = {npu.device("npu", 3), host.device("host", 1, 2)};
  std::vector<AnnotateProgress> seen;
  const auto report = annotate(campaign.store, names_up_to(20), campaign.options,
                               [&](const AnnotateProgress& progress) { seen.push_back(progress); });
  ASSERT_TRUE(report) << report.error().to_string();
  ASSERT_EQ(report->passes.size(), 3u);
  for (const AnnotatePass& pass : report->passes) {
    EXPECT_EQ(pass.measured, 20);
    EXPECT_EQ(pass.failed + pass.already + pass.duplicates, 0);
    EXPECT_EQ(pass.host_fingerprint, "host-a");
    EXPECT_GT(pass.worker_seconds, 0);
  }
  EXPECT_EQ(npu.opened, 3);
  EXPECT_EQ(host.opened, 2) << "a pass has workers of its own";
  EXPECT_EQ(npu.measured, 20);
  EXPECT_EQ(host.measured, 40);
  EXPECT_EQ(campaign.store.info()->groups.size(), 2u);
  EXPECT_TRUE(fs::is_empty(campaign.options.work_dir));
  EXPECT_EQ(seen.back().device, "host");
  EXPECT_EQ(seen.back().pass, 1);
  EXPECT_EQ(seen.back().done, 20);
  EXPECT_GT(seen.back().per_second, 0);
  EXPECT_EQ(seen.back().seconds_left, 0);
  const auto network = campaign.store.find_network("tiny/1/7");
  EXPECT_EQ((*network)->macs, 8 * 8);
  EXPECT_GT((*network)->file_bytes, 0);
}

TEST(Annotate, StoppedAndContinuedGivesTheSameSetAsInOneGo) {
  const test::TempDir dir;
  const auto names = names_up_to(40);
  const auto fresh = [&](const char* file) {
    auto campaign = std::make_unique<Campaign>(dir.path() / file);
    campaign->options.build = [](const std::string& name) { return tiny(name, 30); };
    return campaign;
  };
  FakeDevice fake;
  fake.answer = [](const std::string& file) -> Result<Measurement> {
    Measurement m = FakeDevice::good(2);
    if (file.starts_with("tiny-1-13")) m.error = "crashed";
    return m;
  };
  auto whole = fresh("whole.db");
  whole->options.devices = {fake.device("npu", 2), fake.device("host", 1, 2)};
  whole->run(names);

  auto parts = fresh("parts.db");
  parts->options.devices = whole->options.devices;
  std::atomic<bool> stop = false;
  parts->options.stop = &stop;
  int runs = 0;
  for (bool stopped = true; stopped; ++runs) {
    stop = false;
    int left = 7;
    const auto report = annotate(parts->store, names, parts->options,
                                 [&](const AnnotateProgress&) { stop = --left <= 0; });
    ASSERT_TRUE(report);
    stopped = report->stopped;
    ASSERT_LT(runs, 200);
  }
  EXPECT_GT(runs, 5);
  EXPECT_EQ(whole->stored(), parts->stored());
  EXPECT_EQ(whole->stored().size(), 30u * 3);
  EXPECT_EQ(whole->store.info()->duplicates, 10);
  const auto a = whole->store.networks(), b = parts->store.networks();
  EXPECT_EQ(*a, *b) << "ids, hashes and duplicates are the same as well";
}

TEST(Annotate, WhatIsNotAcceptedIsNeitherMeasuredNorStored) {
  const test::TempDir dir;
  Campaign campaign(dir.path() / "a.db");
  FakeDevice fake;
  campaign.options.devices = {fake.device("npu", 2)};
  campaign.options.accept = [](const Graph& graph) {
    return graph.main().tensors[static_cast<size_t>(graph.main().outputs[0])].shape[1] % 2 == 0;
  };
  int64_t last_done = 0;
  const auto names = names_up_to(21);  // of 1 to 21 outputs
  const auto report =
      annotate(campaign.store, names, campaign.options,
               [&](const AnnotateProgress& progress) { last_done = progress.done; });
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(report->passes[0].measured, 10);
  EXPECT_EQ(report->passes[0].passed_over, 11);
  EXPECT_EQ(last_done, 21);
  EXPECT_EQ(campaign.stored().size(), 10u);
  EXPECT_EQ(campaign.store.networks()->size(), 10u);
  EXPECT_EQ(fake.measured, 10);
  EXPECT_TRUE(fs::is_empty(campaign.options.work_dir));
  // Going on passes over the same ones.
  const AnnotateReport again = campaign.run(names);
  EXPECT_EQ(again.passes[0].already, 10);
  EXPECT_EQ(again.passes[0].passed_over, 11);
  EXPECT_EQ(fake.measured, 10);
}

TEST(Annotate, ChannelMultiplesAreThoseOfEveryConvolutionInside) {
  const auto made = [](int64_t inside, int64_t head) {
    GraphBuilder net({.name = "two", .fill = {}, .seed = 1});
    const auto x = net.input("x", {1, 8, 8, 3});
    const auto y = net.conv_2d(x, {.channels = inside, .kernel_h = 3});
    return net.finish({net.conv_2d(net.depthwise_conv_2d(y, {.kernel_h = 3}), {.channels = head})});
  };
  EXPECT_TRUE(has_channel_multiple(*made(16, 5), 8)) << "a head has as many as there are classes";
  EXPECT_FALSE(has_channel_multiple(*made(12, 8), 8));
  EXPECT_TRUE(has_channel_multiple(*made(12, 8), 4));
  EXPECT_TRUE(has_channel_multiple(*made(7, 7), 1));
  EXPECT_TRUE(has_channel_multiple(Graph{}, 8));
}

TEST(Annotate, NothingIsMeasuredTwice) {
  const test::TempDir dir;
  Campaign campaign(dir.path() / "a.db");
  FakeDevice fake;
  campaign.options.devices = {fake.device("npu", 2)};
  campaign.run(names_up_to(10));
  std::vector<std::string> names = names_up_to(15);
  names.push_back(names[3]);  // named twice
  const AnnotateReport again = campaign.run(names);
  EXPECT_EQ(again.passes[0].already, 11);
  EXPECT_EQ(again.passes[0].measured, 5);
  EXPECT_EQ(fake.measured, 15);
}

TEST(Annotate, EqualGraphsAreRecordedAsDuplicatesOfTheFirstInTheList) {
  const test::TempDir dir;
  for (const int workers : {1, 8}) {
    Campaign campaign(dir.path() / (std::to_string(workers) + ".db"));
    FakeDevice fake;
    campaign.options.devices = {fake.device("npu", workers)};
    campaign.options.build = [](const std::string& name) { return tiny(name, 4); };
    const AnnotateReport report = campaign.run(names_up_to(20));
    EXPECT_EQ(report.passes[0].measured, 4);
    EXPECT_EQ(report.passes[0].duplicates, 16);
    const auto networks = campaign.store.networks();
    ASSERT_EQ(networks->size(), 20u);
    for (size_t i = 0; i < networks->size(); ++i) {
      EXPECT_EQ((*networks)[i].name, "tiny/1/" + std::to_string(i));
      if (i >= 4) {
        EXPECT_EQ((*networks)[i].duplicate_of, (*networks)[i % 4].id);
      }
    }
  }
}

TEST(Annotate, FailuresKeepTheirReasonAndAreRetriedOnlyWhenAsked) {
  const test::TempDir dir;
  Campaign campaign(dir.path() / "a.db");
  FakeDevice fake;
  bool broken = true;
  fake.answer = [&](const std::string& file) -> Result<Measurement> {
    Measurement m = FakeDevice::good(1);
    if (!broken) return m;
    if (file == "tiny-1-2.tflite") m.error = "killed by signal 11";
    if (file == "tiny-1-5.tflite") m.quantities["latency_ms"] = 0;
    if (file == "tiny-1-6.tflite") m.samples_ms = {-1};
    return m;
  };
  campaign.options.devices = {fake.device("npu")};
  EXPECT_EQ(campaign.run(names_up_to(10)).passes[0].failed, 3);
  const auto stored = campaign.stored();
  EXPECT_EQ(stored.size(), 10u);
  EXPECT_EQ(stored.at("tiny/1/2 npu0"), "killed by signal 11");
  EXPECT_NE(stored.at("tiny/1/5 npu0").find("latency_ms is 0"), std::string::npos);
  EXPECT_NE(stored.at("tiny/1/6 npu0").find("a sample is -1"), std::string::npos);
  EXPECT_EQ(campaign.store.info()->groups[0].failed, 3);

  broken = false;
  EXPECT_EQ(campaign.run(names_up_to(10)).passes[0].already, 10);
  campaign.options.retry_failures = true;
  const AnnotateReport retried = campaign.run(names_up_to(10));
  EXPECT_EQ(retried.passes[0].measured, 3);
  EXPECT_EQ(campaign.store.info()->groups[0].failed, 0);
}

TEST(Annotate, NetworkThatCannotBeBuiltIsAFailureOfItsOwn) {
  const test::TempDir dir;
  Campaign campaign(dir.path() / "a.db");
  FakeDevice fake;
  campaign.options.devices = {fake.device("npu")};
  campaign.options.build = [](const std::string& name) -> Result<Graph> {
    if (number_of(name) % 2 == 1) return make_error(ErrorCode::kInternal, name, "no shape fits");
    return tiny(name, 1000);
  };
  const AnnotateReport report = campaign.run(names_up_to(6));
  EXPECT_EQ(report.passes[0].measured, 3);
  EXPECT_EQ(report.passes[0].failed, 3);
  EXPECT_NE(campaign.stored().at("tiny/1/3 npu0").find("no shape fits"), std::string::npos);
}

TEST(Annotate, DeviceThatDoesNotWorkEndsTheCampaignWithEverythingKept) {
  const test::TempDir dir;
  Campaign campaign(dir.path() / "a.db");
  FakeDevice fake;
  std::atomic<int> calls = 0;
  fake.answer = [&](const std::string&) -> Result<Measurement> {
    if (++calls > 12) return make_error(ErrorCode::kDeviceFailed, "npu", "unplugged");
    return FakeDevice::good(1);
  };
  campaign.options.devices = {fake.device("npu", 2)};
  const auto report = annotate(campaign.store, names_up_to(100), campaign.options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kDeviceFailed);
  EXPECT_EQ(report.error().message, "unplugged");
  EXPECT_EQ(campaign.stored().size(), 12u);
  EXPECT_TRUE(fs::is_empty(campaign.options.work_dir));

  AnnotateDevice dead = fake.device("dead");
  dead.open = []() -> Result<std::unique_ptr<Measurer>> {
    return make_error(ErrorCode::kDeviceFailed, "dead", "not installed");
  };
  campaign.options.devices = {dead};
  EXPECT_EQ(annotate(campaign.store, names_up_to(3), campaign.options).error().message,
            "not installed");
}

TEST(Annotate, StoreOfAnotherBuildOfTheSpaceIsRefused) {
  const test::TempDir dir;
  Campaign campaign(dir.path() / "a.db");
  FakeDevice fake;
  campaign.options.devices = {fake.device("npu")};
  campaign.run(names_up_to(5));
  campaign.options.build = [](const std::string& name) { return tiny(name + "1", 1000); };
  const auto report = annotate(campaign.store, names_up_to(5), campaign.options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kBadStore);
  EXPECT_NE(report.error().message.find("tiny/1/0"), std::string::npos);
}

TEST(Annotate, TheUsersOwnFilesAreMeasuredWhereTheyLieAndStayThere) {
  const test::TempDir dir;
  Campaign campaign(dir.path() / "a.db");
  FakeDevice fake;
  campaign.options.devices = {fake.device("npu")};
  const fs::path own = dir.path() / "own.onnx";
  std::ofstream(own) << std::string(200, 'x');
  campaign.options.file = [&](const std::string& name) {
    return name == "tiny/1/0" ? own : fs::path();
  };
  EXPECT_EQ(campaign.run(names_up_to(3)).passes[0].measured, 3);
  EXPECT_TRUE(fs::exists(own));
  EXPECT_TRUE(fs::is_empty(dir.path() / "work"));
}

TEST(Annotate, NothingIsBuiltWhileAQuietDeviceMeasures) {
  const test::TempDir dir;
  Campaign campaign(dir.path() / "a.db");
  FakeDevice fake;
  AnnotateDevice device = fake.device("host");
  device.quiet = true;
  campaign.options.devices = {device};
  campaign.options.build = [&](const std::string& name) {
    const std::scoped_lock lock(fake.mutex);
    EXPECT_EQ(fake.busy, 0);
    return tiny(name, 1000);
  };
  EXPECT_EQ(campaign.run(names_up_to(50)).passes[0].measured, 50);
}

TEST(Annotate, BuildsNoFurtherAheadThanAllowed) {
  const test::TempDir dir;
  Campaign campaign(dir.path() / "a.db");
  FakeDevice fake;
  std::atomic<int> built = 0, answered = 0, most = 0;
  fake.answer = [&](const std::string&) -> Result<Measurement> {
    ++answered;
    return FakeDevice::good(1);
  };
  campaign.options.ahead = 4;
  campaign.options.devices = {fake.device("npu")};
  campaign.options.build = [&](const std::string& name) {
    most = std::max(most.load(), ++built - answered);
    return tiny(name, 1000);
  };
  campaign.run(names_up_to(60));
  EXPECT_LE(most, 4 + 3);  // queued, one in the builder's hand, one in the worker's, one counted
}

TEST(Annotate, ShardsCoverTheListWithoutOverlap) {
  const std::vector<std::string> spaces = {"mobile-classifier"};
  const auto all = sample_names(spaces, 100, 25);
  ASSERT_TRUE(all) << all.error().to_string();
  EXPECT_EQ(all->size(), 25u);
  EXPECT_EQ(all->front(), "mobile-classifier/1/100");
  std::set<std::string> joined;
  for (int shard = 0; shard < 3; ++shard) {
    const auto part = sample_names(spaces, 100, 25, shard, 3);
    ASSERT_TRUE(part);
    for (const std::string& name : *part) EXPECT_TRUE(joined.insert(name).second) << name;
  }
  EXPECT_EQ(joined.size(), 25u);
  EXPECT_FALSE(sample_names(spaces, 0, 5, 3, 3));
  EXPECT_FALSE(sample_names(spaces, 0, 0));
  EXPECT_FALSE(sample_names({}, 0, 5));
  const std::vector<std::string> unknown = {"mobile-clasifier"};
  const auto refused = sample_names(unknown, 0, 5);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("mobile-classifier"), std::string::npos);
}

TEST(Annotate, MutationsAreNamedByTheFilesOfAFolder) {
  const test::TempDir dir;
  const Graph base = build_network(NetworkName::parse("keyword-sound/1/5").value()).value();
  ASSERT_TRUE(write_file(dir.path() / "a.tflite", write_tflite(base).value()));
  const ModelLibrary models = ModelLibrary::open(dir.path()).value();
  const std::vector<std::string> spaces = {"mutation", "keyword-sound"};
  const auto names = sample_names(spaces, 7, 3, 0, 1, &models);
  ASSERT_TRUE(names) << names.error().to_string();
  ASSERT_EQ(names->size(), 6u);
  EXPECT_EQ((*names)[1], "keyword-sound/1/7");
  for (size_t i = 0; i < 6; i += 2)
    EXPECT_TRUE(build_network(NetworkName::parse((*names)[i]).value(), {.models = &models}))
        << (*names)[i];
}

TEST(Annotate, MeasuresSampledNetworksWithVela) {
  EDGESAGE_REQUIRE(test::venv_python(), "needs the device runtimes: run ./dev setup");
  const test::TempDir dir;
  const std::vector<fs::path> descriptions = {test::source_dir() / "devices"};
  const auto catalog = DeviceCatalog::load(descriptions);
  ASSERT_TRUE(catalog) << catalog.error().to_string();
  const auto described = catalog->find("ethos-u55-256");
  ASSERT_TRUE(described) << described.error().to_string();
  const DevicePlaces places{test::source_dir(), test::binary_dir() / "workers", {}};
  const auto device = annotate_device(*described, places, {}, 1, 1);
  ASSERT_TRUE(device) << device.error().to_string();
  EXPECT_FALSE(device->quiet);
  Campaign campaign(dir.path() / "a.db");
  campaign.options.build = {};
  campaign.options.devices = {*device};
  const std::vector<std::string> spaces = {"mobile-classifier", "keyword-sound"};
  const AnnotateReport report = campaign.run(*sample_names(spaces, 1, 2));
  ASSERT_EQ(report.passes.size(), 1u);
  EXPECT_EQ(report.passes[0].measured, 4);
  MeasurementFilter filter;
  filter.operators = true;
  const auto rows = campaign.store.measurements(filter);
  ASSERT_TRUE(rows);
  for (const StoredMeasurement& row : *rows) {
    EXPECT_GT(row.measurement.quantities.at("latency_ms"), 0) << row.network_name;
    EXPECT_FALSE(row.measurement.operators.empty()) << row.network_name;
    EXPECT_EQ(row.measurement.host_fingerprint, "");
  }
}

}  // namespace
}  // namespace edgesage
