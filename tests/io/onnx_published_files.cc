#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "tests/io/onnx_test_support.h"
#include "tests/support/test_paths.h"

namespace edgesage::test {

std::vector<std::filesystem::path> published_onnx_files() {
  std::vector<std::filesystem::path> files;
  if (const auto data = data_dir())
    for (const IndexedModel& model : indexed_models(*data))
      if (model.kind == "onnx") files.push_back(model.path);
  const std::filesystem::path debian = "/usr/share/libonnx-testdata/data";
  std::error_code ignored;
  for (const auto& found : std::filesystem::recursive_directory_iterator(debian, ignored))
    if (found.path().extension() == ".onnx") files.push_back(found.path());
  std::ranges::sort(files);
  return files;
}

}  // namespace edgesage::test
