// Runs a Python script beside the tests and reads the JSON that it prints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/json.h"

namespace edgesage::test {

// `script` is relative to tests/. Null where the script fails or prints something else.
[[nodiscard]] Json run_oracle(std::string_view script, const std::vector<std::string>& arguments);

// Paths of the .tflite files of models/index.csv.
[[nodiscard]] std::vector<std::string> tflite_paths();

}  // namespace edgesage::test
