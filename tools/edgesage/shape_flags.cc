#include "tools/edgesage/shape_flags.h"

#include <charconv>
#include <string>
#include <vector>

#include "src/base/text.h"

namespace edgesage::cli {
namespace {

constexpr const char* kForm = "NAME:1x224x224x3 is the form, in the file's order of dimensions";

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

void add_sizes(CLI::App& command, ReadOptions& read) {
  command
      .add_option_function<std::vector<std::string>>(
          "-f",
          [&read](const std::vector<std::string>& given) {
            for (const std::string& item : given) {
              const size_t colon = item.rfind(':');
              const auto sides = colon == std::string::npos ? std::vector<int64_t>{}
                                                            : parse_sides(item.substr(colon + 1));
              if (colon == 0 || sides.size() != 1)
                throw CLI::ValidationError("-f " + item, "DIM:VALUE is the form, as in batch:1");
              read.dimensions[item.substr(0, colon)] = sides.front();
            }
          },
          "Size of a dimension that an ONNX model only names, as in batch:1; repeatable")
      ->type_name("DIM:VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
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
          "Shape of an input, in the file's order: image:1x224x224x3 (.tflite), data:3x224x224 "
          "(ncnn), image:1x3x224x224 (.onnx); repeatable")
      ->type_name("NAME:SHAPE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--batch", read.batch, "Batch of the inputs, in place of the file's")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
      ->type_name("N");
}

void add_shapes(CLI::App& command, ReadOptions& read) {
  add_sizes(command, read);
  command.add_option("--signature", read.signature, "Which entry of a model with several")
      ->type_name("NAME");
  command
      .add_option("--trip-count", read.trip_count,
                  "Iterations of loops whose file does not say it; without, once")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->type_name("N");
}

}  // namespace edgesage::cli
