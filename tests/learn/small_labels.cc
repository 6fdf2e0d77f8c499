#include "tests/learn/small_labels.h"

#include <fstream>
#include <string>

#include "src/learn/label_file.h"
#include "tests/support/test_paths.h"

namespace edgesage::test {

const std::vector<LabelRow>& small_labels() {
  static const std::vector<LabelRow> rows = [] {
    std::vector<LabelRow> chosen;
    auto all = read_labels(source_dir() / "labels" / "ethos-u55-256.csv.zst");
    if (!all) return chosen;
    for (LabelRow& row : *all)
      if (row.name.starts_with("keyword-sound/") && row.quantities.at("latency_ms") < 0.3 &&
          chosen.size() < 240)
        chosen.push_back(std::move(row));
    return chosen;
  }();
  return rows;
}

const Dataset& small_dataset() {
  static const Dataset data =
      *build_dataset(small_labels(), *target_from_name("ethos-u55-256"), kSmallQuantities, 2);
  return data;
}

int64_t anonymous_memory() {
  std::ifstream status("/proc/self/status");
  std::string word;
  int64_t kilobytes = 0;
  while (status >> word)
    if (word == "RssAnon:") status >> kilobytes;
  return kilobytes * 1024;
}

}  // namespace edgesage::test
