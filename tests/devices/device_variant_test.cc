#include <gtest/gtest.h>

#include <fstream>

#include "src/devices/device.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {
namespace fs = std::filesystem;

DeviceCatalog shipped() {
  return DeviceCatalog::load(std::vector<fs::path>{test::source_dir() / "devices"}).value();
}

TEST(DeviceVariant, TheDescribedProtocolKeepsTheName) {
  const auto host = shipped().find("host-litert").value();
  EXPECT_EQ(device_variant(host, Json::object())->name, "host-litert");
  EXPECT_EQ(device_variant(host, {{"threads", 1}})->name, "host-litert");
  EXPECT_EQ(device_variant(host, {{"max_time_ms", 100}})->name, "host-litert")
      << "how long is measured does not change what a label means";
}

TEST(DeviceVariant, ThreadsAndCoresAreAnotherLabel) {
  const auto host = shipped().find("host-litert").value();
  const auto four = device_variant(host, {{"threads", 4}, {"cores", "3,0,1"}});
  ASSERT_TRUE(four) << four.error().to_string();
  EXPECT_EQ(four->name, "host-litert+threads=4+cores=0-1,3");
  EXPECT_EQ(base_name(four->name), "host-litert");
  EXPECT_EQ(four->options["threads"], 4);
  EXPECT_EQ(four->options["cores"], "0-1,3");
  EXPECT_EQ(four->target, host.target);
  const auto vela = shipped().find("ethos-u55-256").value();
  EXPECT_EQ(device_variant(vela, {{"memory_mode", "Sram_Only"}})->name,
            "ethos-u55-256+memory_mode=Sram_Only");
}

TEST(DeviceVariant, IsFoundAgainByItsName) {
  const auto catalog = shipped();
  const auto host = catalog.find("host-litert").value();
  for (const Json& options : {Json{{"threads", 4}}, Json{{"cores", "0,1"}},
                              Json{{"threads", 2}, {"cores", "0"}, {"clock", "wall"}}}) {
    const auto variant = device_variant(host, options).value();
    const auto found = catalog.find(variant.name);
    ASSERT_TRUE(found) << found.error().to_string();
    EXPECT_EQ(found->name, variant.name);
    EXPECT_EQ(found->options["threads"], variant.options["threads"]);
    // Given again, the options change nothing; given otherwise, they make another variant.
    EXPECT_EQ(device_variant(*found, options)->name, variant.name);
    EXPECT_EQ(device_variant(*found, {{"threads", 8}})->name.substr(0, 21),
              "host-litert+threads=8");
  }
  EXPECT_EQ(device_variant(catalog.find("host-litert+threads=4").value(), {{"threads", 1}})->name,
            "host-litert");
}

TEST(DeviceVariant, AValueThatFitsNoFileNameIsHashed) {
  const auto catalog = shipped();
  const auto vela = catalog.find("ethos-u55-256").value();
  const auto first = device_variant(vela, {{"config", "/a b/my_vela.ini"}}).value();
  const auto second = device_variant(vela, {{"config", "/c/my_vela.ini"}}).value();
  EXPECT_NE(first.name, second.name);
  EXPECT_EQ(first.name.find('/'), std::string::npos);
  const auto found = catalog.find(first.name);
  ASSERT_TRUE(found) << "its labels and predictors have a name";
  EXPECT_FALSE(device_variant(*found, Json::object())) << "its options are not known";
  EXPECT_EQ(device_variant(*found, {{"config", "/a b/my_vela.ini"}})->name, first.name);
}

TEST(DeviceVariant, RefusesWhatMakesNoSense) {
  const auto catalog = shipped();
  const auto host = catalog.find("host-litert").value();
  for (const char* cores : {"", "a", "1-", "3-1", "-1", "0,,1", "99999", "1.5"})
    EXPECT_FALSE(device_variant(host, {{"cores", cores}})) << cores;
  const auto unknown = catalog.find("host-litert+colour=red");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("threads"), std::string::npos) << unknown.error().message;
  EXPECT_FALSE(catalog.find("host-litert+"));
  EXPECT_FALSE(catalog.find("host-litert+threads"));
  EXPECT_FALSE(catalog.find("host-litert-2+threads=4"));
}

TEST(DeviceVariant, CoresAreReadAsListsAndRanges) {
  EXPECT_EQ(*parse_cores(2), (std::vector<int>{2}));
  EXPECT_EQ(*parse_cores("4-6, 1,5"), (std::vector<int>{1, 4, 5, 6}));
  EXPECT_EQ(*parse_cores(Json::array({0, 1})), (std::vector<int>{0, 1}));
  EXPECT_EQ(cores_text(std::vector<int>{0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

}  // namespace
}  // namespace edgesage
