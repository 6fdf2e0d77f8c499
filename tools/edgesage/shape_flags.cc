#include "tools/edgesage/shape_flags.h"

#include <charconv>
#include <string>
#include <vector>

#include "src/base/text.h"

namespace edgesage::cli {
namespace {

constexpr const char* kForm = "NAME:1x3x224x224 is the form: batch, channels, height, width";

std::vector<int64_t> parse_sides(const std::string& text) {
  std::vector<int64_t> sides;
  for (const std::string& part : split(text, 'x')) {
    int64_t side = 0;
    const char* const end = part.data() + part.size();
    const auto [rest, error] = std::from_chars(part.data(), end, side);
    if (error != std::errc() || rest != end) return {};
    sides.push_back(side);
  }
  return sides;
}

}  // namespace

void add_shapes(CLI::App& command, ReadOptions& read) {
  command
      .add_option_function<std::vector<std::string>>(
          "--shape",
          [&read](const std::vector<std::string>& given) {
            for (const std::string& item : given) {
              const size_t colon = item.rfind(':');
              const auto sides = colon == std::string::npos ? std::vector<int64_t>{}
                                                            : parse_sides(item.substr(colon + 1));
              if (sides.empty()) throw CLI::ValidationError("--shape " + item, kForm);
              read.shapes[item.substr(0, colon)] = sides;
            }
          },
          "Shape of an input of an ncnn graph, as in data:3x224x224; repeatable")
      ->type_name("NAME:CxHxW")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace edgesage::cli
