#include "src/devices/output_parser.h"

#include <gtest/gtest.h>

namespace edgesage {
namespace {

OutputParser regex(std::string pattern, std::string unit) {
  OutputParser parser;
  parser.kind = OutputParser::Kind::kRegex;
  parser.pattern = std::move(pattern);
  parser.unit = std::move(unit);
  return parser;
}

OutputParser json(std::string pointer, std::string unit) {
  OutputParser parser;
  parser.kind = OutputParser::Kind::kJson;
  parser.pointer = std::move(pointer);
  parser.unit = std::move(unit);
  return parser;
}

TEST(OutputParser, GivesOneTimeForEveryMatchInMilliseconds) {
  const std::pair<const char*, double> units[] = {
      {"ns", 1.5e-6}, {"us", 1.5e-3}, {"ms", 1.5}, {"s", 1500}};
  for (const auto& [unit, expected] : units) {
    const auto parsed = parse_output(regex("took (?<time>[0-9.]+)", unit),
                                     "warm-up\ntook 1.5 took 3.0\n[ok] took 4.5\r\n");
    ASSERT_TRUE(parsed) << parsed.error().to_string();
    ASSERT_EQ(parsed->samples_ms.size(), 3u);
    EXPECT_DOUBLE_EQ(parsed->samples_ms[0], expected);
    EXPECT_DOUBLE_EQ(parsed->samples_ms[2], 3 * expected);
  }
}

TEST(OutputParser, TakesTheUnitFromTheTextWhereItIsPrinted) {
  const OutputParser parser = regex(R"(((a|b)\([(]?)?(?P<time>\S+) (?<unit>[a-z]+))", "");
  ASSERT_TRUE(check_parser(parser)) << check_parser(parser).error().to_string();
  const auto parsed = parse_output(parser, "900 us\n1.1 ms\n2e-3 s\n");
  ASSERT_TRUE(parsed) << parsed.error().to_string();
  EXPECT_EQ(parsed->samples_ms, (std::vector<double>{0.9, 1.1, 2}));
  const auto minutes = parse_output(parser, "2 min\n");
  ASSERT_FALSE(minutes);
  EXPECT_NE(minutes.error().message.find("'min'"), std::string::npos);
}

TEST(OutputParser, RefusesWhatIsNoTimeAndSaysWhatCame) {
  const std::pair<const char*, const char*> cases[] = {
      {"took 0", "the time is 0"},     {"took -1", "the time is -1"},
      {"took nan", "the time is nan"}, {"took inf", "the time is inf"},
      {"took 1,5", "'1,5'"},           {"took 12ms", "'12ms'"},
      {"took 1e999", "'1e999'"},       {"", "it printed: nothing"},
      {"Segmentation fault", "fault"}, {"took", "took"},
  };
  for (const auto& [text, reason] : cases) {
    const auto parsed = parse_output(regex("took (?<time>\\S+)", "ms"), text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kDeviceFailed);
    EXPECT_NE(parsed.error().message.find(reason), std::string::npos) << parsed.error().message;
    EXPECT_EQ(parsed.error().message.find('\n'), std::string::npos);
  }
}

TEST(OutputParser, ReadsANumberOrAnArrayBehindAPointer) {
  const char* text = R"({"timings":{"us":[1500, 2500.5], "a/b":3}, "none":null, "text":"4"})";
  EXPECT_EQ(parse_output(json("/timings/us", "us"), text)->samples_ms,
            (std::vector<double>{1.5, 2.5005}));
  EXPECT_EQ(parse_output(json("/timings/a~1b", "s"), text)->samples_ms,
            (std::vector<double>{3000}));
  EXPECT_EQ(parse_output(json("", "ms"), " 7 \n")->samples_ms, (std::vector<double>{7}));
  for (const char* pointer : {"/absent", "/none", "/text", "/timings", "/timings/us/7"}) {
    const auto parsed = parse_output(json(pointer, "ms"), text);
    ASSERT_FALSE(parsed) << pointer;
    EXPECT_NE(parsed.error().message.find(pointer), std::string::npos) << parsed.error().message;
  }
  for (const char* bad : {"[1, 0]", "[1, -2]", "[]", "{\"a\"", "1e999", "[1, \"2\"]", ""})
    EXPECT_FALSE(parse_output(json("", "ms"), bad)) << bad;
}

TEST(OutputParser, ADescriptionThatCannotWorkIsRefused) {
  EXPECT_TRUE(check_parser(regex("(?<time>.)", "ms")));
  EXPECT_FALSE(check_parser(regex("(time)", "ms")));
  EXPECT_FALSE(check_parser(regex("(?<time>.", "ms")));
  EXPECT_FALSE(check_parser(regex("(?<time>.)", "")));
  EXPECT_FALSE(check_parser(regex("(?<time>.)", "msec")));
  EXPECT_FALSE(check_parser(regex("(?<time>.) (?<unit>.)", "ms")));
  EXPECT_FALSE(check_parser(json("timings", "ms")));
  EXPECT_FALSE(check_parser(json("/timings", "")));
  OutputParser benchmark;
  EXPECT_TRUE(check_parser(benchmark));
  benchmark.unit = "ms";
  EXPECT_FALSE(check_parser(benchmark));
}

TEST(OutputParser, APatternThatWouldExplodeEndsSoon) {
  const std::string line(4000, 'a');
  EXPECT_FALSE(parse_output(regex("(a|a)*(?<time>[0-9]+)$", "ms"), line.substr(0, 200)));
  EXPECT_FALSE(parse_output(regex("took (?<time>[0-9]+)", "ms"), std::string(1 << 20, 'x')));
}

TEST(OutputParser, AnExcerptIsOneLineOfWholeCharacters) {
  EXPECT_EQ(excerpt_of(" a \n\n b\t\n"), "a | b");
  EXPECT_EQ(excerpt_of(""), "nothing");
  std::string umlauts;
  for (int i = 0; i < 200; ++i) umlauts += "\xc3\xa9";
  const std::string cut = excerpt_of(umlauts, 5);
  EXPECT_EQ(cut, "...\xc3\xa9\xc3\xa9");
}

}  // namespace
}  // namespace edgesage
