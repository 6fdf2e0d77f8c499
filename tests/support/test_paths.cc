#include "tests/support/test_paths.h"

#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

namespace edgesage::test {
namespace fs = std::filesystem;

fs::path source_dir() { return EDGESAGE_SOURCE_DIR; }
fs::path binary_dir() { return EDGESAGE_BINARY_DIR; }

std::optional<fs::path> data_dir() {
  if (const char* dir = std::getenv("EDGESAGE_DATA_DIR"); dir != nullptr && *dir != '\0') {
    if (fs::exists(fs::path(dir) / "models" / "index.csv")) return fs::path(dir);
    return std::nullopt;
  }
  const fs::path beside = source_dir().parent_path() / "shared";
  if (fs::exists(beside / "models" / "index.csv")) return beside;
  return std::nullopt;
}

std::optional<fs::path> venv_python() {
  const fs::path python = source_dir() / ".venv" / "bin" / "python";
  if (fs::exists(python)) return python;
  return std::nullopt;
}

std::vector<IndexedModel> indexed_models(const fs::path& data_dir) {
  std::ifstream in(data_dir / "models" / "index.csv");
  std::string line;
  std::getline(in, line);  // header
  std::vector<IndexedModel> models;
  while (std::getline(in, line)) {
    std::vector<std::string> cells;
    std::stringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
    cells.resize(12);
    IndexedModel model;
    model.file = cells[0];
    model.path = data_dir / "models" / cells[0];
    model.kind = cells[1];
    model.row = static_cast<int>(models.size());
    if (model.kind == "tflite") {
      model.subgraphs = std::stoll(cells[7]);
      model.tensors = std::stoll(cells[8]);
      model.operators = std::stoll(cells[9]);
      model.distinct_operators = std::stoll(cells[10]);
    }
    model.opset = cells[11];
    models.push_back(model);
  }
  return models;
}

TempDir::TempDir() {
  std::random_device device;
  for (;;) {
    path_ = fs::temp_directory_path() / ("edgesage-test-" + std::to_string(device()));
    if (fs::create_directory(path_)) return;
  }
}

TempDir::~TempDir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace edgesage::test
