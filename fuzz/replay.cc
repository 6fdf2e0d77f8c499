// Runs the targets on files without libFuzzer: `replay CORPUS`, where CORPUS/<target>/ holds the
// files of each target, or `replay TARGET FILE...`.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "fuzz/targets.h"
#include "src/base/file.h"

namespace {

namespace fs = std::filesystem;
namespace fuzz = edgesage::fuzz;

struct FuzzTarget {
  std::string_view name;
  void (*run)(fuzz::Bytes);
};
constexpr FuzzTarget kTargets[] = {
    {"tflite", fuzz::tflite},
    {"ncnn", fuzz::ncnn},
    {"onnx", fuzz::onnx},
    {"file_kind", fuzz::file_kind},
    {"predictor", fuzz::predictor},
    {"labels", fuzz::labels},
    {"store", fuzz::store},
    {"label_import", fuzz::label_import},
    {"device_toml", fuzz::device_toml},
    {"worker", fuzz::worker},
    {"device_output", fuzz::device_output},
};

bool run_file(const FuzzTarget& target, const fs::path& path) {
  const auto text = edgesage::read_text(path, edgesage::ErrorCode::kInvalidArgument);
  if (!text) {
    std::fprintf(stderr, "%s\n", text.error().to_string().c_str());
    return false;
  }
  target.run(std::as_bytes(std::span(*text)));
  return true;
}

bool run_corpus(const fs::path& corpus) {
  for (const FuzzTarget& target : kTargets) {
    std::vector<fs::path> files;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(corpus / target.name, ignored))
      files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    std::printf("%s: %zu files\n", std::string(target.name).c_str(), files.size());
    std::fflush(stdout);
    if (files.empty()) return false;
    for (const fs::path& file : files)
      if (!run_file(target, file)) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 1) return run_corpus(arguments[0]) ? 0 : 1;
  for (const FuzzTarget& target : kTargets) {
    if (arguments.size() < 2 || arguments[0] != target.name) continue;
    for (size_t i = 1; i < arguments.size(); ++i)
      if (!run_file(target, arguments[i])) return 1;
    return 0;
  }
  std::fprintf(stderr, "usage: replay CORPUS | replay TARGET FILE...\n");
  return 2;
}
