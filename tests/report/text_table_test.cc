#include "src/report/text_table.h"

#include <gtest/gtest.h>

namespace edgesage::report {
namespace {

TEST(TextTable, AlignsNumbersRightAndTextLeft) {
  TextTable table({"name", ">ms"});
  table.add({"a", "1.5"});
  table.add({"longer", "12.25"});
  EXPECT_EQ(table.render("  "),
            "  name       ms\n"
            "  a         1.5\n"
            "  longer  12.25\n");
}

TEST(TextTable, LeavesOutColumnsWithoutACell) {
  TextTable table({"a", ">empty", "b"});
  table.add({"x", "", "y"});
  table.add({"x"});
  EXPECT_EQ(table.render(), "a  b\nx  y\nx\n");
}

TEST(TextTable, KeepsControlSequencesOfNamesOffTheTerminal) {
  EXPECT_EQ(shown("a\033[2Jb\n\xff"), "a?[2Jb??");
  EXPECT_EQ(shown(std::string(100, 'x'), 10), "xxxx...xxx");
  EXPECT_EQ(shown(""), "");
}

TEST(TextTable, WritesShapesNumbersAndDecimals) {
  EXPECT_EQ(shape_text({1, 96, 96, 3}), "1x96x96x3");
  EXPECT_EQ(shape_text({-1, 3}), "?x3");
  EXPECT_EQ(shape_text({}), "scalar");
  EXPECT_EQ(shape_text({}, false), "unranked");
  EXPECT_EQ(grouped(int64_t{0}), "0");
  EXPECT_EQ(grouped(int64_t{999}), "999");
  EXPECT_EQ(grouped(int64_t{1000}), "1,000");
  EXPECT_EQ(grouped(int64_t{-1234567}), "-1,234,567");
  EXPECT_EQ(grouped(std::optional<int64_t>()), "-");
  EXPECT_EQ(decimal(0.0), "0");
  EXPECT_EQ(decimal(12.3456), "12.35");
  EXPECT_EQ(decimal(0.00123456), "0.001235");
  EXPECT_EQ(decimal(123456.7), "123457");
}

}  // namespace
}  // namespace edgesage::report
