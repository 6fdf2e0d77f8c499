// Accuracy of few-shot learning as text, Markdown, JSON and CSV.
#pragma once

#include <string>

#include "edgesage/few_shot_table.h"

namespace edgesage::report {

[[nodiscard]] std::string few_shot_text(const FewShotTable& table);
// The table that docs/results.md holds; published figures of others are rows of their own.
[[nodiscard]] std::string few_shot_markdown(const FewShotTable& table);
[[nodiscard]] std::string few_shot_json(const FewShotTable& table);
// The fields of the JSON, one line a row, with a column for the coverage of each interval.
[[nodiscard]] std::string few_shot_csv(const FewShotTable& table);

}  // namespace edgesage::report
