#include "src/devices/device.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/test_paths.h"

namespace edgesage {
namespace {
namespace fs = std::filesystem;

void write(const fs::path& path, std::string_view text) { std::ofstream(path) << text; }

Result<DeviceCatalog> load(const fs::path& directory) {
  return DeviceCatalog::load(std::vector<fs::path>{directory});
}

constexpr std::string_view kMinimal = R"(
runtime = "mine"
worker = ["{python}", "{device_dir}/worker.py"]
[options]
level = 1
colour = "red"
[[device]]
name = "board-1"
[[device]]
name = "board-2"
target = "litert-xnnpack"
[device.options]
level = 2
)";

TEST(Devices, DescribesEveryEthosUAndTheHost) {
  const auto catalog = load(test::source_dir() / "devices");
  ASSERT_TRUE(catalog) << catalog.error().to_string();
  for (const char* name : {"ethos-u55-32", "ethos-u55-64", "ethos-u55-128", "ethos-u55-256",
                           "ethos-u65-256", "ethos-u65-512", "ethos-u85-128", "ethos-u85-256",
                           "ethos-u85-512", "ethos-u85-1024", "ethos-u85-2048"}) {
    const auto device = catalog->find(name);
    ASSERT_TRUE(device) << name;
    EXPECT_EQ(device->target, name);
    EXPECT_EQ(device->runtime, "vela");
    EXPECT_EQ(device->statistic, "estimate");
    EXPECT_FALSE(device->host_bound);
  }
  const auto host = catalog->find("host-litert");
  ASSERT_TRUE(host);
  EXPECT_EQ(host->target, "litert-xnnpack");
  EXPECT_EQ(host->statistic, "min");
  EXPECT_TRUE(host->host_bound);
  EXPECT_EQ(host->options["threads"], 1);
}

TEST(Devices, AnUnknownNameGetsTheClosestAndTheList) {
  const auto catalog = load(test::source_dir() / "devices");
  ASSERT_TRUE(catalog);
  const auto device = catalog->find("ethos-u55-255");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(device.error().message.find("did you mean ethos-u55-256?"), std::string::npos)
      << device.error().message;
  EXPECT_NE(device.error().message.find("host-litert"), std::string::npos);
}

TEST(Devices, DeviceOptionsGoOverThoseOfTheFamily) {
  const test::TempDir dir;
  write(dir.path() / "boards.toml", kMinimal);
  const auto catalog = load(dir.path());
  ASSERT_TRUE(catalog) << catalog.error().to_string();
  const auto first = catalog->find("board-1"), second = catalog->find("board-2");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->family, "boards");
  EXPECT_EQ(first->options["level"], 1);
  EXPECT_EQ(second->options["level"], 2);
  EXPECT_EQ(second->options["colour"], "red");
  EXPECT_EQ(first->target, "board-1");
}

TEST(Devices, TheFirstDescriptionOfANameWins) {
  const test::TempDir first, second;
  write(first.path() / "a.toml", "runtime = 'one'\nworker = ['x']\n[[device]]\nname = 'd'\n");
  write(second.path() / "a.toml", "runtime = 'two'\nworker = ['x']\n[[device]]\nname = 'd'\n");
  const auto catalog = DeviceCatalog::load(
      std::vector<fs::path>{first.path() / "absent", first.path(), second.path()});
  ASSERT_TRUE(catalog);
  ASSERT_EQ(catalog->devices().size(), 1u);
  EXPECT_EQ(catalog->devices()[0].runtime, "one");
}

TEST(Devices, FillsPlaceholdersWithoutAShell) {
  const test::TempDir dir;
  write(dir.path() / "b.toml",
        "runtime = 'r'\nworker = ['{worker_dir}/w', 'a b; $(rm) {source_dir}']\n[[device]]\nname = "
        "'d'\n");
  const auto catalog = load(dir.path());
  ASSERT_TRUE(catalog);
  const auto command = worker_command(catalog->devices()[0],
                                      {.source_dir = "/src", .worker_dir = "/bin w", .python = ""});
  ASSERT_TRUE(command);
  EXPECT_EQ(*command, (std::vector<std::string>{"/bin w/w", "a b; $(rm) /src"}));
}

TEST(Devices, NamesWhatIsMissingAndHowToGetIt) {
  const auto catalog = load(test::source_dir() / "devices");
  ASSERT_TRUE(catalog);
  const auto vela = catalog->find("ethos-u55-256");
  ASSERT_TRUE(vela);
  const test::TempDir nowhere;
  const DevicePlaces places{
      .source_dir = nowhere.path(), .worker_dir = nowhere.path(), .python = ""};
  const Status without_python = check_device(*vela, places);
  ASSERT_FALSE(without_python);
  EXPECT_EQ(without_python.error().code, ErrorCode::kDeviceFailed);
  EXPECT_NE(without_python.error().message.find("./dev setup"), std::string::npos);
  fs::create_directories(nowhere.path() / ".venv" / "bin");
  write(nowhere.path() / ".venv" / "bin" / "python", "");
  const Status without_vela = check_device(*vela, places);
  ASSERT_FALSE(without_vela);
  EXPECT_NE(
      without_vela.error().message.find("run ./dev setup to install ethos-u-vela 5.2.0 into .venv"),
      std::string::npos)
      << without_vela.error().message;
}

TEST(Devices, RefusesFilesThatItDoesNotUnderstand) {
  const std::pair<const char*, const char*> cases[] = {
      {"runtime = 'r'\nworker = ['x']\n", "describes no device"},
      {"worker = ['x']\n[[device]]\nname='d'\n", "runtime is missing"},
      {"runtime = 'r'\n[[device]]\nname='d'\n", "worker is missing"},
      {"runtime = 'r'\nworker = 'sh -c x'\n[[device]]\nname='d'\n",
       "worker must be an array of strings"},
      {"runtime = 'r'\nworker = ['x']\n[[device]]\ntarget='d'\n", "has no name"},
      {"runtime = 'r'\nworkers = ['x']\n[[device]]\nname='d'\n", "did you mean worker?"},
      {"runtime = 'r'\nworker = ['x']\noptions = 3\n[[device]]\nname='d'\n",
       "options must be a table"},
      {"runtime = 'r'\nworker = ['x']\n[[requires]]\npath = 'p'\n[[device]]\nname='d'\n",
       "needs path, what and remedy"},
      {"runtime = \n", "bad.toml:1:"},
  };
  for (const auto& [text, reason] : cases) {
    const test::TempDir dir;
    write(dir.path() / "bad.toml", text);
    const auto catalog = load(dir.path());
    ASSERT_FALSE(catalog) << text;
    EXPECT_EQ(catalog.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(catalog.error().to_string().find(reason), std::string::npos)
        << catalog.error().to_string();
    EXPECT_NE(catalog.error().to_string().find("bad.toml"), std::string::npos);
  }
}

TEST(Devices, RefusesAnUnknownPlaceholderAndAnEmptySearchPath) {
  const test::TempDir dir;
  write(dir.path() / "b.toml", "runtime = 'r'\nworker = ['{home}/w']\n[[device]]\nname = 'd'\n");
  const auto catalog = load(dir.path());
  ASSERT_TRUE(catalog);
  const auto command = worker_command(catalog->devices()[0], {});
  ASSERT_FALSE(command);
  EXPECT_NE(command.error().message.find("{home}"), std::string::npos);
  const auto none = load(dir.path() / "absent");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("EDGESAGE_DEVICE_PATH"), std::string::npos);
}

}  // namespace
}  // namespace edgesage
