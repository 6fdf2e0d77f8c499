// Rows of few-shot protocols as a CSV file: what makes an evaluation resumable, and what tables and
// curves are made from.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "edgesage/result.h"
#include "src/learn/few_shot_protocol.h"

namespace edgesage {

// Shares and errors in per cent with four digits. The same rows give the same bytes.
[[nodiscard]] std::string few_shot_csv(std::span<const FewShotRow> rows);

// No rows where there is no such file. kBadStore for a damaged one, with the row.
[[nodiscard]] Result<std::vector<FewShotRow>> read_few_shot_rows(const std::filesystem::path& path);

// Replaced atomically.
[[nodiscard]] Status write_few_shot_rows(std::span<const FewShotRow> rows,
                                         const std::filesystem::path& path);

}  // namespace edgesage
