// From what a run printed to times. One format a kind; the units are the description's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/devices/benchmark_model.h"
#include "src/devices/command_description.h"

namespace edgesage {

struct ParsedOutput {
  std::vector<double> samples_ms;  // in the order printed; empty for benchmark_model
  std::optional<BenchmarkReport> benchmark;
};

// Whether the parser can work: a pattern that compiles and has a group named `time`, a pointer, a
// unit. kInvalidArgument says what is wrong.
[[nodiscard]] Status check_parser(const OutputParser& parser);

// At least one time, each finite and above zero; otherwise kDeviceFailed with what came. A pattern
// is matched line by line, in lines of at most 4,096 bytes; every match gives one time.
[[nodiscard]] Result<ParsedOutput> parse_output(const OutputParser& parser, std::string_view text);

// The number that `text` is as a whole, without spaces; nullopt for everything else, such as "1,5".
[[nodiscard]] std::optional<double> whole_text_number(std::string_view text);

// The end of a text as one line for a message; "nothing" where it is empty.
[[nodiscard]] std::string excerpt_of(std::string_view text, size_t length = 160);

}  // namespace edgesage
