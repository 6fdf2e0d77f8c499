#include "src/devices/energy.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTable = R"(
name = "mine"
required = ["nn_macs"]
[[cost]]
quantity = "nn_macs"
picojoules = 0.5
source = "a paper"
[[cost]]
quantity = "sram_traffic_bytes"
picojoules = 2
source = "a data sheet"
[[cost]]
quantity = "latency_ms"  # 5 mW
picojoules = 5e6
source = "a multimeter"
)";

Result<EnergyTable> read(std::string_view text) {
  static const test::TempDir directory;
  const fs::path path = directory.path() / "table.toml";
  std::ofstream(path) << text;
  return EnergyTable::read(path);
}

std::string with(std::string_view what, std::string_view by) {
  std::string text(kTable);
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, what.size(), by);
}

TEST(Energy, IsTheSumOfCostsTimesQuantities) {
  const auto table = read(kTable);
  ASSERT_TRUE(table) << table.error().to_string();
  const auto energy = energy_mj(
      *table, {{"nn_macs", 4e6}, {"sram_traffic_bytes", 1e6}, {"latency_ms", 0.5}, {"x", 9}});
  ASSERT_TRUE(energy);
  // 2e6 + 2e6 + 2.5e6 pJ
  EXPECT_DOUBLE_EQ(*energy, 6.5e-3);
}

TEST(Energy, IsNotKnownWhereANeededCountOrCostIsMissing) {
  const auto table = read(kTable);
  ASSERT_TRUE(table);
  const auto no_macs = energy_mj(*table, {{"sram_traffic_bytes", 1e6}});
  ASSERT_FALSE(no_macs);
  EXPECT_NE(no_macs.error().message.find("nn_macs"), std::string::npos);
  const auto no_cost = energy_mj(*table, {{"nn_macs", 1}, {"dram_traffic_bytes", 1}});
  ASSERT_FALSE(no_cost);
  EXPECT_NE(no_cost.error().message.find("dram_traffic_bytes"), std::string::npos);
  // A memory that the network does not touch needs no cost.
  EXPECT_TRUE(energy_mj(*table, {{"nn_macs", 1}, {"dram_traffic_bytes", 0}}));
  // Nothing to do costs nothing, which is no energy that could be learnt.
  EXPECT_FALSE(energy_mj(*table, {{"nn_macs", 0}}));
}

TEST(Energy, ATableIsRefusedWithWhatIsWrong) {
  const std::pair<std::string, std::string> cases[] = {
      {with("name = \"mine\"", ""), "name is missing"},
      {with("picojoules = 0.5", "picojoules = -1"), "nn_macs"},
      {with("picojoules = 0.5", "picojoules = nan"), "nn_macs"},
      {with("picojoules = 0.5", "picojoules = \"much\""), "nn_macs"},
      {with("source = \"a paper\"", ""), "needs quantity, picojoules and source"},
      {with("source = \"a paper\"", "sauce = \"a paper\""), "unknown key sauce"},
      {with("\"sram_traffic_bytes\"", "\"nn_macs\""), "two costs"},
      {with("required = [\"nn_macs\"]", "required = \"nn_macs\""), "required must be"},
      {with("required = [\"nn_macs\"]", "require = []"), "unknown key require"},
      {"name = \"empty\"", "no costs"},
      {"name = \"odd\"\ncost = [1]", "array of tables"},
      {"name = ", "table.toml"}};
  for (const auto& [text, expected] : cases) {
    const auto table = read(text);
    ASSERT_FALSE(table) << text;
    EXPECT_EQ(table.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(table.error().to_string().find(expected), std::string::npos)
        << table.error().to_string();
  }
}

TEST(Energy, ItsHashFollowsWhateverChangesAResult) {
  const auto table = read(kTable);
  const auto other_source = read(with("a paper", "another paper"));
  const auto other_cost = read(with("picojoules = 0.5", "picojoules = 0.25"));
  ASSERT_TRUE(table && other_source && other_cost);
  EXPECT_EQ(table->hash(), other_source->hash());
  EXPECT_NE(table->hash(), other_cost->hash());
}

TEST(Energy, EveryEthosUHasATableWhoseCostsNameTheirSources) {
  const auto catalog = DeviceCatalog::load(std::vector<fs::path>{test::source_dir() / "devices"});
  ASSERT_TRUE(catalog) << catalog.error().to_string();
  for (const DeviceDescription& device : catalog->devices()) {
    const auto table = energy_table_of(device, {});
    ASSERT_TRUE(table) << table.error().to_string();
    EXPECT_EQ(table->has_value(), device.runtime == "vela") << device.name;
    if (!*table) continue;
    for (const EnergyCost& cost : (*table)->costs) {
      // "[Horowitz 2014]", explained in the file's head.
      EXPECT_NE(cost.source.find('['), std::string::npos) << cost.quantity;
      EXPECT_NE(std::ranges::find(device.quantities, cost.quantity), device.quantities.end());
    }
  }
}

TEST(Energy, AUsersTableTakesThePlaceOfTheDevices) {
  const test::TempDir directory;
  const fs::path path = directory.path() / "mine.toml";
  std::ofstream(path) << kTable;
  const auto table = energy_table_of({}, {}, path);
  ASSERT_TRUE(table) << table.error().to_string();
  EXPECT_EQ((*table)->name, "mine");
  EXPECT_FALSE(energy_table_of({}, {}, directory.path() / "missing.toml"));
  const auto none = energy_table_of({}, {});
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
}

}  // namespace
}  // namespace edgesage
