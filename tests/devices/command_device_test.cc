// Devices of commands, with a stand-in whose commands are really executed.
#include <signal.h>

#include <algorithm>
#include <fstream>

#include "tests/devices/stand_in_device.h"

namespace edgesage {
namespace {
namespace fs = std::filesystem;
using namespace std::chrono_literals;
using test::kTimes;
using test::StandIn;
using Verbs = std::vector<std::string>;

class CommandDevice : public testing::Test {
 protected:
  void SetUp() override {
    model_ = dir_.path() / "my model \xc3\xa9 'x'.tflite";
    std::ofstream(model_) << "bytes of a model";
  }
  test::TempDir dir_;
  fs::path model_;
};

bool is_gone(const fs::path& file) {
  int pid = 0;
  std::ifstream(file) >> pid;
  for (int i = 0; i < 200 && pid > 0; ++i) {
    std::ifstream stat(fs::path("/proc") / std::to_string(pid) / "stat");
    std::string text;
    if (!std::getline(stat, text) || text.find(") Z ") != std::string::npos) return true;
    usleep(10'000);
  }
  return false;
}

TEST_F(CommandDevice, PushesRunsAndCleans) {
  StandIn device("'times', '{remote_model}', '3 1 2 2 2'", kTimes);
  const auto measurement = device.measure(model_);
  ASSERT_TRUE(measurement) << measurement.error().to_string();
  ASSERT_EQ(measurement->error, "");
  EXPECT_EQ(measurement->device, "stand-in");
  EXPECT_EQ(measurement->runtime, "stand-in");
  EXPECT_EQ(measurement->statistic, "min");
  EXPECT_EQ(measurement->quantities.at("latency_ms"), 1.0);
  EXPECT_EQ(measurement->samples_ms, (std::vector<double>{3, 1, 2, 2, 2}));
  EXPECT_EQ(measurement->host_fingerprint, "");
  EXPECT_EQ(device.verbs(), (Verbs{"check", "push", "run", "clean"}));
  EXPECT_EQ(device.left(), 0);
  // The name of the model arrives as it is; what stands on the device is named by us.
  EXPECT_EQ(device.calls()[1]["arguments"][0], model_.string());
}

TEST_F(CommandDevice, AFailureOrATimeoutStillCleans) {
  const std::pair<const char*, const char*> cases[] = {
      {"'fail', 'x'", "run failed: "},
      {"'crash', 'x'", "signal 6"},
      {"'hang', 'x'", "did not end within 1 s"},
      {"'times', 'x', ''", "no time"},
      {"'times', 'x', '-3'", "the time is -3"},
      {"'times', 'x', 'nan'", "the time is nan"},
      {"'times', 'x', '0'", "the time is 0"},
      {"'text', 'x', 'Inference timings in us: Init'", "it printed: "},
  };
  for (const auto& [run, reason] : cases) {
    StandIn device(run, kTimes, "", "timeout_s = 1");
    const auto measurement = device.measure(model_);
    ASSERT_TRUE(measurement) << run;
    EXPECT_NE(measurement->error.find(reason), std::string::npos)
        << run << ": " << measurement->error;
    EXPECT_EQ(measurement->error.find('\n'), std::string::npos);
    EXPECT_EQ(measurement->missing.count("latency_ms"), 1u);
    EXPECT_EQ(device.verbs().back(), "clean") << run;
    EXPECT_EQ(device.left(), 0) << run;
  }
}

TEST_F(CommandDevice, AHangingRunIsKilledWithItsChildren) {
  StandIn device("'hang', 'x'", kTimes, "", "timeout_s = 60");
  MeasureOptions options;
  options.deadline = 2s;  // that of the measurement is shorter
  const auto measurement = device.measure(model_, options);
  ASSERT_TRUE(measurement);
  EXPECT_NE(measurement->error.find("did not end within"), std::string::npos);
  EXPECT_TRUE(is_gone(device.root() / "child"));
  EXPECT_EQ(device.verbs().back(), "clean");
  StandIn leaver("'leaves_child', 'x'", kTimes);
  EXPECT_EQ(leaver.measure(model_)->error, "");
  EXPECT_TRUE(is_gone(leaver.root() / "child"));
}

TEST_F(CommandDevice, ADeviceThatIsNotThereEndsTheCampaign) {
  StandIn device("'times', 'x', '1'", kTimes);
  std::ofstream(device.root() / "offline") << "";
  const auto measurement = device.measure(model_);
  ASSERT_FALSE(measurement);
  EXPECT_EQ(measurement.error().code, ErrorCode::kDeviceFailed);
  EXPECT_NE(measurement.error().message.find("no devices/emulators found"), std::string::npos);
  EXPECT_EQ(device.verbs(), (Verbs{"check"}));
}

TEST_F(CommandDevice, AfterAFailureTheDeviceIsAskedAgain) {
  StandIn device("'fail', 'x'", kTimes);
  const auto description = device.describe().value();
  auto client = WorkerClient::for_device(description, {}).value();
  EXPECT_NE(measure(client, description, model_)->error, "");
  std::ofstream(device.root() / "offline") << "";
  EXPECT_FALSE(measure(client, description, model_));
}

TEST_F(CommandDevice, TriesAgainAsOftenAsTheDescriptionSays) {
  StandIn patient("'flaky', 'x'", kTimes, "", "retries = 2");
  EXPECT_EQ(patient.measure(model_)->error, "");
  EXPECT_EQ(std::ranges::count(patient.verbs(), "run"), 3);
  StandIn hasty("'flaky', 'x'", kTimes, "", "retries = 1");
  const auto measurement = hasty.measure(model_);
  EXPECT_NE(measurement->error.find("device busy"), std::string::npos) << measurement->error;
  EXPECT_NE(measurement->error.find("attempt 2"), std::string::npos) << measurement->error;
}

TEST_F(CommandDevice, RunsAreRepeatedIntoOneSeries) {
  StandIn device("'times', 'x', '2'", kTimes, "", "repeat = 3");
  const auto measurement = device.measure(model_);
  EXPECT_EQ(measurement->samples_ms, (std::vector<double>{2, 2, 2}));
  EXPECT_EQ(device.verbs(), (Verbs{"check", "push", "run", "run", "run", "clean"}));
}

TEST_F(CommandDevice, ReadsAPulledFile) {
  StandIn device("'file', 'x', '{{\"us\": [1500, 2500]}}', '{remote_output}'",
                 "kind = 'json'\nsource = 'file'\npointer = '/us'\nunit = 'us'",
                 "--\npull = ['cp', '{remote_output}', '{output}']");
  const auto measurement = device.measure(model_);
  ASSERT_TRUE(measurement) << measurement.error().to_string();
  EXPECT_EQ(measurement->error, "");
  EXPECT_EQ(measurement->samples_ms, (std::vector<double>{1.5, 2.5}));
  StandIn forgetful("'times', '{output}', '1'",
                    "kind = 'json'\nsource = 'file'\npointer = '/us'\nunit = 'us'");
  EXPECT_NE(forgetful.measure(model_)->error.find("{output}"), std::string::npos);
}

TEST_F(CommandDevice, OptionsThreadsAndCoresArePlaceholders) {
  const std::string run =
      "'times', 'x', '1', '{threads}', ['--cores', '{cores}', '{core_mask}'], "
      "'{colour}', '{sh:colour}', '{device}'";
  const std::string more =
      "[options]\nthreads = 1\ncolour = \"it's red\"\n--\n"
      "environment = { STAND_IN_VARIABLE = \"{colour} {threads}\" }";
  StandIn plain(run, kTimes, more);
  ASSERT_EQ(plain.measure(model_)->error, "");
  EXPECT_EQ(plain.calls()[2]["arguments"],
            Json::array({"times", "x", "1", "1", "it's red", "'it'\\''s red'", "stand-in"}));
  EXPECT_EQ(plain.calls()[2]["variable"], "it's red 1");
  StandIn device(run, kTimes, more);
  MeasureOptions options;
  options.options = {{"threads", 4}, {"cores", "0,1,5"}};
  const auto measurement = device.measure(model_, options);
  ASSERT_TRUE(measurement) << measurement.error().to_string();
  EXPECT_EQ(measurement->device, "stand-in+threads=4+cores=0-1,5");
  EXPECT_EQ(measurement->protocol.at("threads"), "4");
  EXPECT_EQ(measurement->protocol.at("cores"), "0-1,5");
  EXPECT_EQ(device.calls()[2]["arguments"],
            Json::array({"times", "x", "1", "4", "--cores", "0-1,5", "23", "it's red",
                         "'it'\\''s red'", "stand-in"}));
}

TEST_F(CommandDevice, AnOptionWithoutEffectIsRefused) {
  StandIn device("'times', 'x', '1'", kTimes);
  for (const Json& options : {Json{{"threads", 2}}, Json{{"cores", "0"}}, Json{{"typo", 1}}}) {
    const auto measurement = device.measure(model_, {.options = options});
    ASSERT_FALSE(measurement);
    EXPECT_EQ(measurement.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(measurement.error().message.find("no effect"), std::string::npos);
  }
}

TEST_F(CommandDevice, AMachineIsKnownByWhatItSaysOfItself) {
  const auto fingerprint = [&](const std::string& name) {
    StandIn device("'times', 'x', '1'", kTimes, "host_bound = true\n--");
    std::string text = read_text(device.toml(), ErrorCode::kInternal).value();
    text.insert(text.find("remote_dir"), "identify = ['echo', '" + name +
                                             "']\n"
                                             "version = ['echo', 'v7']\n");
    std::ofstream(device.toml()) << text;
    const auto measurement = device.measure(model_);
    EXPECT_TRUE(measurement) << measurement.error().to_string();
    EXPECT_EQ(measurement->runtime_version, "v7");
    return measurement->host_fingerprint;
  };
  EXPECT_EQ(fingerprint("phone-1").size(), 16u);
  EXPECT_EQ(fingerprint("phone-1"), fingerprint("phone-1"));
  EXPECT_NE(fingerprint("phone-1"), fingerprint("phone-2"));
  EXPECT_NE(fingerprint("phone-1"), fingerprint("phone-2"));
}

TEST_F(CommandDevice, ACleanThatFailsIsSaidAndCostsNoLabel) {
  StandIn device("'times', 'x', '1'", kTimes);
  std::ofstream(device.root() / "cannot_clean") << "";
  const auto measurement = device.measure(model_);
  EXPECT_EQ(measurement->error, "");
  EXPECT_NE(measurement->protocol.at("clean").find("read-only"), std::string::npos);
}

TEST_F(CommandDevice, BenchmarkModelGivesItsStatisticAndOperators) {
  const std::string text =
      "count=2 curr=9\\ncount=50 first=5 curr=5 min=3900 max=5000 avg=4125.25 std=11\\n"
      "Inference timings in us: Init: 630, First inference: 9000, Warmup (avg): 9, Inference "
      "(avg): "
      "4125.25\\nOperator-wise Profiling Info for Regular Benchmark Runs:\\n"
      "===== Run Order =====\\nnode type, start, first, avg_ms, %, cdf%, mem KB, times called, "
      "name\\nCONV_2D, 0, 1, 2.5, 44%, 44%, 0, 1, [a]:4\\n\\n"
      "Number of nodes executed: 1\\n";
  const std::string parser = "kind = 'benchmark_model'";
  const auto run = [&](std::string_view statistic) {
    StandIn device("'text', 'x', \"" + text + "\"", parser,
                   "quantities = ['latency_ms', 'first_latency_ms', 'load_ms']\n--");
    std::string toml = read_text(device.toml(), ErrorCode::kInternal).value();
    toml.replace(toml.find("\"min\""), 5, fmt::format("\"{}\"", statistic));
    std::ofstream(device.toml()) << toml;
    return device.measure(model_);
  };
  const auto least = run("min");
  ASSERT_TRUE(least) << least.error().to_string();
  ASSERT_EQ(least->error, "");
  EXPECT_DOUBLE_EQ(least->quantities.at("latency_ms"), 3.9);
  EXPECT_EQ(least->statistic, "min");
  EXPECT_DOUBLE_EQ(least->quantities.at("first_latency_ms"), 9.0);
  EXPECT_DOUBLE_EQ(least->quantities.at("load_ms"), 0.63);
  ASSERT_EQ(least->operators.size(), 1u);
  EXPECT_EQ(least->operators[0].index, 4);
  EXPECT_DOUBLE_EQ(least->operators[0].cycles, 2.5e6);
  EXPECT_EQ(least->operator_unit, "ns");
  EXPECT_DOUBLE_EQ(run("mean")->quantities.at("latency_ms"), 4.12525);
  EXPECT_NE(run("p50")->error.find("median"), std::string::npos) << run("p50")->error;
}

// The whole way: a real runtime behind push and run, its label against that of the other worker.
TEST_F(CommandDevice, ReallyRunsAModel) {
  EDGESAGE_REQUIRE(test::venv_python(), "no .venv; run ./dev setup");
  EDGESAGE_REQUIRE(test::data_dir(), "no models; set EDGESAGE_DATA_DIR");
  const fs::path model = *test::data_dir() / "models/tflite/tiny/f0b01141_vww_96_int8.tflite";
  StandIn device("'litert', '{remote_model}', '{threads}', '{runs}'", "kind = 'benchmark_model'",
                 "quantities = ['latency_ms', 'first_latency_ms', 'load_ms']\n[options]\nthreads = "
                 "1\nruns = 30\n--",
                 "timeout_s = 60");
  const auto measurement = device.measure(model);
  ASSERT_TRUE(measurement) << measurement.error().to_string();
  ASSERT_EQ(measurement->error, "");
  EXPECT_GT(measurement->quantities.at("latency_ms"), 0.05);
  EXPECT_LT(measurement->quantities.at("latency_ms"), 100);
  EXPECT_GE(measurement->quantities.at("first_latency_ms"),
            measurement->quantities.at("latency_ms"));
  EXPECT_EQ(measurement->protocol.at("runs"), "30");
  EXPECT_EQ(device.left(), 0);
}

TEST_F(CommandDevice, SaysWhatIsMissing) {
  StandIn device("'times', 'x', '1'", kTimes, "--\npull = ['no-such-program-here', 'x']");
  const auto missing = check_device(device.describe().value(), {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kDeviceFailed);
  EXPECT_NE(missing.error().message.find("no-such-program-here of command.pull is not found in "
                                         "PATH"),
            std::string::npos)
      << missing.error().message;
}

TEST(CommandDescription, RefusesWhatItDoesNotUnderstand) {
  const std::string head = "kind='command'\nruntime='r'\n", tail = "[[device]]\nname='d'\n";
  const std::string parser = "[command.parser]\nkind='regex'\npattern='(?<time>.)'\nunit='ms'\n";
  const std::pair<std::string, const char*> cases[] = {
      {head + tail, "command must be a table"},
      {head + "[command]\n" + parser + tail, "command.run is missing"},
      {head + "[command]\nrun='sh -c x'\n" + parser + tail, "no shell reads it"},
      {head + "[command]\nrun=['x', 3]\n" + parser + tail, "no shell reads it"},
      {head + "[command]\nrun=[]\n" + parser + tail, "no shell reads it"},
      {head + "[command]\nrun=['x', []]\n" + parser + tail, "no shell reads it"},
      {head + "[command]\nrun=['x']\n" + tail, "[command.parser] is missing"},
      {head + "[command]\nrunn=['x']\n" + parser + tail, "did you mean run?"},
      {head + "[command]\nrun=['x', '{colour}']\n" + parser + tail, "unknown placeholder {colour}"},
      {head + "[command]\nrun=['x', '{threads}']\n" + parser + tail, "may have no value"},
      {head + "[command]\nrun=['x', '{remote_model}']\n" + parser + tail, "command.remote_dir"},
      {head + "[command.run]\narguments=['x']\ntimeout_s=0\n" + parser + tail, "timeout_s is 0"},
      {head + "[command.run]\narguments=['x']\nretries=-1\n" + parser + tail, "retries is -1"},
      {head + "[command.push]\narguments=['x']\nrepeat=2\n[command.run]\narguments=['x']\n" +
           parser + tail,
       "unknown key repeat in command.push"},
      {head + "[command]\nrun=['x']\n[command.parser]\nkind='xml'\n" + tail, "'xml'"},
      {head + "[command]\nrun=['x']\n[command.parser]\nkind='json'\nunit='sec'\n" + tail, "'sec'"},
      {head + "[command]\nrun=['x']\n[command.parser]\nkind='regex'\npattern='.'\nunit='s'\n" +
           tail,
       "a group named time"},
      {head + "[command]\nrun=['x']\n[command.parser]\nkind='benchmark_model'\nsource='file'\n" +
           tail,
       "{output}"},
      {head + "host_bound=true\n[command]\nrun=['x']\n" + parser + tail, "command.identify"},
      {head + "worker=['x']\n[command]\nrun=['x']\n" + parser + tail, "worker is for"},
      {"kind='magic'\nruntime='r'\n" + tail, "'magic'"},
      {head + "statistic='best'\n[command]\nrun=['x']\n" + parser + tail, "'best'"},
  };
  for (const auto& [text, reason] : cases) {
    const test::TempDir dir;
    const fs::path file = dir.path() / "bad.toml";
    std::ofstream(file) << text;
    const auto catalog = DeviceCatalog::load(std::vector{file});
    ASSERT_FALSE(catalog) << text;
    EXPECT_EQ(catalog.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(catalog.error().to_string().find(reason), std::string::npos)
        << catalog.error().to_string();
    EXPECT_NE(catalog.error().to_string().find("bad.toml"), std::string::npos);
  }
}

TEST(CommandDescription, TheExamplesAreUnderstood) {
  const auto catalog =
      DeviceCatalog::load(std::vector<fs::path>{test::source_dir() / "devices/examples"});
  ASSERT_TRUE(catalog) << catalog.error().to_string();
  EXPECT_TRUE(catalog->find("my-phone"));
  EXPECT_TRUE(catalog->find("my-board"));
  EXPECT_TRUE(catalog->find("my-phone+threads=4+cores=4-7"));
}

}  // namespace
}  // namespace edgesage
