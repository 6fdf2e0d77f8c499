// docs/spaces.md prints the tables of ranges that the samplers draw from.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "src/base/file.h"
#include "src/spaces/space.h"
#include "src/spaces/trained_weights.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

std::string table_of(std::span<const Parameter* const> parameters) {
  std::string text = "| parameter | meaning | range |\n|---|---|---|\n";
  for (const Parameter* parameter : parameters)
    text += fmt::format("| `{}` | {} | {} |\n", parameter->name, parameter->meaning,
                        parameter->range_text());
  return text;
}

// Puts a table between its two marks; false if the document has no such marks.
bool put_table(std::string& document, const std::string& name, const std::string& table) {
  const std::string open = fmt::format("<!-- ranges: {} -->\n", name);
  const std::string close = "<!-- end -->\n";
  const size_t begin = document.find(open);
  if (begin == std::string::npos) return false;
  const size_t from = begin + open.size();
  const size_t to = document.find(close, from);
  if (to == std::string::npos) return false;
  document.replace(from, to - from, table);
  return true;
}

// With EDGESAGE_UPDATE_DOCS=1 in the environment the document is written anew.
TEST(SpacesDocument, PrintsTheRangesOfTheSamplers) {
  const auto path = test::source_dir() / "docs" / "spaces.md";
  const std::string written = read_text(path, ErrorCode::kInternal).value();
  std::string expected = written;
  const auto weights = TrainedWeights::parameters();
  const std::set<const Parameter*> of_weights(weights.begin(), weights.end());
  EXPECT_TRUE(put_table(expected, "weights", table_of(weights)));
  for (const SpaceInfo& space : all_spaces()) {
    std::vector<const Parameter*> own;
    for (const Parameter* parameter : space.parameters)
      if (!of_weights.contains(parameter)) own.push_back(parameter);
    if (own.empty()) continue;  // a published space: its paper has the ranges
    const std::string name = fmt::format("{}/{}", space.name, space.version);
    EXPECT_TRUE(put_table(expected, name, table_of(own))) << "no table for " << name;
  }
  if (std::getenv("EDGESAGE_UPDATE_DOCS") != nullptr) {
    ASSERT_TRUE(write_file(path, std::as_bytes(std::span(expected))));
    return;
  }
  EXPECT_TRUE(written == expected)
      << "docs/spaces.md differs from the code; run this test with EDGESAGE_UPDATE_DOCS=1";
}

}  // namespace
}  // namespace edgesage
