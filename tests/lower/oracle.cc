#include "tests/lower/oracle.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "tests/support/test_paths.h"

namespace edgesage::test {

Json run_oracle(std::string_view script, const std::vector<std::string>& arguments) {
  std::string command =
      fmt::format("'{}' '{}'", venv_python()->string(), (source_dir() / "tests" / script).string());
  for (const std::string& argument : arguments) command += fmt::format(" '{}'", argument);
  std::FILE* pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return nullptr;
  std::string output;
  std::array<char, 4096> chunk{};
  while (const size_t count = std::fread(chunk.data(), 1, chunk.size(), pipe))
    output.append(chunk.data(), count);
  if (::pclose(pipe) != 0) return nullptr;
  Result<Json> json = parse_json(output, script, ErrorCode::kInternal);
  return json ? std::move(*json) : Json();
}

std::vector<std::string> tflite_paths() {
  std::vector<std::string> paths;
  for (const IndexedModel& model : indexed_models(*data_dir()))
    if (model.kind == "tflite") paths.push_back(model.path.string());
  return paths;
}

}  // namespace edgesage::test
