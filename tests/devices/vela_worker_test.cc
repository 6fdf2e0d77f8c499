// The Vela worker against the command line of Vela itself.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <numeric>

#include "src/base/csv.h"
#include "src/base/file.h"
#include "src/devices/measure.h"
#include "src/graph/builder.h"
#include "src/io/tflite_writer.h"
#include "tests/devices/open_worker.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {
namespace fs = std::filesystem;

const std::vector<std::string> kTinyInt8 = {
    "2d6dd487_pretrainedResnet_quant.tflite",
    "361fa1b1_model_ToyCar_quant_fullint_micro_intio.tflite", "618aeb15_kws_ref_model.tflite",
    "9643512e_str_ww_ref_model.tflite", "f0b01141_vww_96_int8.tflite"};

class VelaWorker : public testing::Test {
 protected:
  void SetUp() override {
    EDGESAGE_REQUIRE(test::venv_python(), "no .venv; run ./dev setup");
    EDGESAGE_REQUIRE(test::data_dir(), "no models; set EDGESAGE_DATA_DIR");
  }
  DeviceDescription device(const std::string& name) { return test::shipped_device(name); }
  WorkerClient client(const std::string& name) { return test::open_worker(device(name)); }
  fs::path tiny(const std::string& file) { return *test::data_dir() / "models/tflite/tiny" / file; }
};

double total_cycles(const Measurement& measurement) {
  return std::accumulate(
      measurement.operators.begin(), measurement.operators.end(), 0.0,
      [](double sum, const OperatorMeasurement& measured) { return sum + measured.cycles; });
}

// The one row of Vela's summary CSV as numbers by column, from a run of its command line.
std::map<std::string, double> run_command_line(const fs::path& model,
                                               const std::string& accelerator) {
  const test::TempDir out;
  const std::string command = fmt::format(
      "'{}' -m ethosu.vela '{}' --accelerator-config {} --output-dir '{}' > /dev/null 2>&1",
      test::venv_python()->string(), model.string(), accelerator, out.path().string());
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::map<std::string, double> numbers;
  for (const auto& entry : fs::directory_iterator(out.path())) {
    if (entry.path().filename().string().find("_summary_") == std::string::npos) continue;
    const auto table = parse_csv(read_text(entry.path(), ErrorCode::kInternal).value(), "summary",
                                 ErrorCode::kInternal);
    for (size_t i = 0; i < table->columns.size(); ++i)
      numbers[table->columns[i]] = std::strtod(table->rows.at(0)[i].c_str(), nullptr);
  }
  return numbers;
}

TEST_F(VelaWorker, SaysWhatTheCommandLineSays) {
  WorkerClient worker = client("ethos-u55-256");
  for (const std::string& name :
       {std::string("ethos-u55-256"), std::string("ethos-u65-512"), std::string("ethos-u85-512")}) {
    for (const std::string& file : kTinyInt8) {
      SCOPED_TRACE(name + " " + file);
      const auto expected = run_command_line(tiny(file), name);
      ASSERT_GT(expected.size(), 30u);
      const auto measurement = measure(worker, device(name), tiny(file));
      ASSERT_TRUE(measurement) << measurement.error().to_string();
      ASSERT_TRUE(measurement->error.empty()) << measurement->error;
      const auto& got = measurement->quantities;
      // Vela is not deterministic to the byte.
      const auto near = [](double a, double b) { EXPECT_NEAR(a, b, 1e-3 * b) << "expected " << b; };
      near(got.at("latency_ms"), expected.at("inference_time") * 1e3);
      near(got.at("cycles_total"), expected.at("cycles_total"));
      near(got.at("cycles_npu"), expected.at("cycles_npu"));
      near(got.at("nn_macs"), expected.at("nn_macs"));
      near(got.at("npu_encoded_weights_bytes"), expected.at("total_npu_encoded_weights"));
      near(got.at("original_weights_bytes"), expected.at("total_original_weights"));
      near(got.at("passes_after_fusing"), expected.at("passes_after_fusing"));
      for (const char* area : {"sram", "dram", "on_chip_flash", "off_chip_flash"}) {
        const std::string prefix = area;
        const double used = expected.at(prefix + "_memory_used") * 1024;
        if (used == 0) {
          EXPECT_EQ(got.count(prefix + "_bytes"), 0u) << "0 stands for unknown";
          EXPECT_EQ(measurement->missing.count(prefix + "_bytes"), 1u);
          continue;
        }
        near(got.at(prefix + "_bytes"), used);
        near(got.at(prefix + "_traffic_bytes"), expected.at(prefix + "_total_bytes"));
        near(got.at("cycles_" + prefix + "_access"), expected.at("cycles_" + prefix + "_access"));
      }
    }
  }
}

TEST_F(VelaWorker, OperatorsAddUpExactlyAndEveryConvolutionCosts) {
  WorkerClient worker = client("ethos-u55-256");
  const DeviceCatalog catalog = test::shipped_devices();
  for (const DeviceDescription& target : catalog.devices()) {
    if (target.runtime != "vela") continue;
    for (const std::string& file : kTinyInt8) {
      const auto measurement = measure(worker, target, tiny(file));
      ASSERT_TRUE(measurement && measurement->error.empty()) << target.name << " " << file;
      EXPECT_EQ(total_cycles(*measurement), measurement->quantities.at("cycles_total"));
      EXPECT_EQ(measurement->operator_unit, "cycles");
      for (const OperatorMeasurement& measured : measurement->operators) {
        EXPECT_EQ(measured.placement, "npu");
        EXPECT_TRUE(measured.macs == 0 || measured.cycles > 0)
            << file << " operator " << measured.index;
      }
    }
  }
}

// The reference model of keyword spotting, by its published structure: a convolution, four times
// depthwise and pointwise, pooling, reshape, dense, softmax.
TEST_F(VelaWorker, GivesCyclesToTheOperatorThatTheyComeFrom) {
  WorkerClient worker = client("ethos-u55-256");
  const auto measurement =
      measure(worker, device("ethos-u55-256"), tiny("618aeb15_kws_ref_model.tflite"));
  ASSERT_TRUE(measurement);
  const auto& operators = measurement->operators;
  ASSERT_EQ(operators.size(), 13u);
  EXPECT_EQ(operators[0].macs, 25 * 5 * 64 * 10 * 4);
  for (size_t i = 1; i < 9; ++i)
    EXPECT_EQ(operators[i].macs, i % 2 == 1 ? 25 * 5 * 64 * 9 : 25 * 5 * 64 * 64) << i;
  EXPECT_EQ(operators[1].cycles, operators[3].cycles);
  EXPECT_EQ(operators[2].cycles, operators[4].cycles);
  EXPECT_EQ(operators[10].cycles, 0);
  EXPECT_NE(operators[10].placement_reason.find("no command of its own"), std::string::npos);
  EXPECT_EQ(operators[11].macs, 64 * 12);
  EXPECT_GT(operators[12].cycles, 0) << "softmax has rows of its own";
}

// Its steps have no source in the compiler's tables.
TEST_F(VelaWorker, ChargesAnArgMaxToItself) {
  GraphBuilder net(GraphBuilder::Options{});
  const auto x = net.conv_2d(net.input("x", {1, 32, 32, 8}), {.channels = 8});
  const Result<Graph> graph = net.finish({net.arg_max(x, DataType::kInt64)});
  ASSERT_TRUE(graph);
  const Result<std::vector<std::byte>> bytes = write_tflite(*graph);
  ASSERT_TRUE(bytes);
  const test::TempDir folder;
  const fs::path file = folder.path() / "arg_max.tflite";
  ASSERT_TRUE(write_file(file.string(), *bytes));
  WorkerClient worker = client("ethos-u65-512");
  const auto measurement = measure(worker, device("ethos-u65-512"), file);
  ASSERT_TRUE(measurement && measurement->error.empty());
  ASSERT_EQ(measurement->operators.size(), 2u);
  EXPECT_GT(measurement->operators[1].cycles, measurement->operators[0].cycles);
  EXPECT_EQ(total_cycles(*measurement), measurement->quantities.at("cycles_total"));
}

TEST_F(VelaWorker, CountsWhatFallsBackAndSaysWhy) {
  WorkerClient worker = client("ethos-u55-256");
  const auto measurement =
      measure(worker, device("ethos-u55-256"), tiny("d7c06dc5_kws_ref_model_float32.tflite"));
  ASSERT_TRUE(measurement);
  ASSERT_TRUE(measurement->error.empty()) << measurement->error;
  EXPECT_EQ(measurement->cpu_operators, 13);
  EXPECT_EQ(measurement->quantities.count("latency_ms"), 0u)
      << "a network that does not run there is not free";
  EXPECT_EQ(measurement->missing.at("latency_ms"), "no operator runs on the NPU");
  for (const OperatorMeasurement& measured : measurement->operators) {
    EXPECT_EQ(measured.placement, "cpu");
    EXPECT_NE(measured.placement_reason.find("Float32"), std::string::npos)
        << measured.placement_reason;
  }
}

// Every published file: an answer or a reason, and never cycles that belong to nobody.
TEST_F(VelaWorker, AnswersEveryPublishedFile) {
  WorkerClient worker = client("ethos-u55-256");
  for (const std::string& name :
       {std::string("ethos-u55-256"), std::string("ethos-u65-512"), std::string("ethos-u85-512")}) {
    int answered = 0, failed = 0;
    for (const test::IndexedModel& model : test::indexed_models(*test::data_dir())) {
      if (model.kind != "tflite") continue;
      const auto measurement =
          measure(worker, device(name), model.path,
                  {.options = Json::object(), .deadline = std::chrono::seconds(60)});
      ASSERT_TRUE(measurement) << model.file << measurement.error().to_string();
      if (!measurement->error.empty()) {
        ++failed;
        continue;
      }
      ++answered;
      const auto total = measurement->quantities.find("cycles_total");
      const double expected = total == measurement->quantities.end() ? 0 : total->second;
      EXPECT_EQ(total_cycles(*measurement), expected) << model.file;
      for (const OperatorMeasurement& measured : measurement->operators)
        EXPECT_FALSE(measured.placement.empty());
    }
    EXPECT_GT(answered, 120) << name;
    EXPECT_LT(failed, 20) << name;
  }
  EXPECT_EQ(worker.restarts(), 0);
}

TEST_F(VelaWorker, TakesAUsersConfiguration) {
  WorkerClient worker = client("ethos-u55-256");
  const DeviceDescription target = device("ethos-u55-256");
  const fs::path model = tiny("f0b01141_vww_96_int8.tflite");
  const auto plain = measure(worker, target, model);
  const auto sram_only =
      measure(worker, target, model, {.options = {{"memory_mode", "Sram_Only"}}});
  ASSERT_TRUE(plain && sram_only);
  EXPECT_LT(sram_only->quantities.at("latency_ms"), plain->quantities.at("latency_ms"));
  EXPECT_EQ(sram_only->protocol.at("memory_mode"), "Sram_Only");
  EXPECT_EQ(plain->protocol.at("memory_mode"), "Shared_Sram");

  const test::TempDir dir;
  std::ofstream(dir.path() / "mine.ini") << "[System_Config.Mine]\ncore_clock=100e6\naxi0_port="
                                            "Sram\naxi1_port=OffChipFlash\nSram_clock_scale=1.0\n"
                                            "OffChipFlash_clock_scale=0.125\n[Memory_Mode.Mine]"
                                            "\nconst_mem_area=Axi1\narena_mem_area=Axi0\n"
                                            "cache_mem_area=Axi0\n";
  const auto mine = measure(worker, target, model,
                            {.options = {{"config", (dir.path() / "mine.ini").string()},
                                         {"system_config", "Mine"},
                                         {"memory_mode", "Mine"},
                                         {"optimise", "Size"},
                                         {"arena_cache_size", 1 << 20}}});
  ASSERT_TRUE(mine) << mine.error().to_string();
  ASSERT_TRUE(mine->error.empty()) << mine->error;
  EXPECT_GT(mine->quantities.at("latency_ms"), 2 * plain->quantities.at("latency_ms"));
  EXPECT_EQ(mine->protocol.at("core_clock_hz"), "100000000");
  EXPECT_EQ(mine->protocol.at("arena_cache_size_bytes"), "1048576");
}

TEST_F(VelaWorker, RefusesOptionsThatItDoesNotKnow) {
  WorkerClient worker = client("ethos-u55-256");
  const DeviceDescription target = device("ethos-u55-256");
  const fs::path model = tiny("618aeb15_kws_ref_model.tflite");
  for (const Json& options :
       {Json{{"colour", "red"}}, Json{{"optimise", "Beauty"}}, Json{{"system_config", "None"}},
        Json{{"config", "/nowhere.ini"}}, Json{{"arena_cache_size", -1}}}) {
    const auto measurement = measure(worker, target, model, {.options = options});
    ASSERT_FALSE(measurement) << options.dump();
    EXPECT_EQ(measurement.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_TRUE(measure(worker, target, model)->error.empty());
  EXPECT_EQ(worker.restarts(), 0);
}

TEST_F(VelaWorker, AFileThatIsNoModelCostsOneAnswer) {
  WorkerClient worker = client("ethos-u55-256");
  const DeviceDescription target = device("ethos-u55-256");
  const test::TempDir dir;
  const std::string good =
      read_text(tiny("618aeb15_kws_ref_model.tflite"), ErrorCode::kInternal).value();
  const std::pair<const char*, std::string> files[] = {{"empty", ""},
                                                       {"text", "hello"},
                                                       {"cut", good.substr(0, good.size() / 2)},
                                                       {"header", good.substr(0, 8)}};
  for (const auto& [name, bytes] : files) {
    std::ofstream(dir.path() / name, std::ios::binary) << bytes;
    const auto measurement = measure(worker, target, dir.path() / name);
    ASSERT_TRUE(measurement) << name;
    EXPECT_FALSE(measurement->error.empty()) << name;
  }
  EXPECT_FALSE(measure(worker, target, dir.path() / "absent")->error.empty());
  EXPECT_TRUE(measure(worker, target, tiny("618aeb15_kws_ref_model.tflite"))->error.empty());
}

}  // namespace
}  // namespace edgesage
