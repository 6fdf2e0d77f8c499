// What a check compares with: the budget (TOML) and the baseline (JSON). docs/check.md describes
// both files.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/answer.h"
#include "edgesage/predict.h"
#include "edgesage/result.h"

namespace edgesage::app {

// A figure of a prediction under the name that budgets use.
struct BudgetFigure {
  std::optional<double> value;
  std::optional<double> upper;  // of its interval; the value where it is exact
  bool predicted = false;       // by the predictor, so that another one gives another figure
  std::string reason;           // why there is none
};

// Names that a budget may limit, with their units.
[[nodiscard]] const std::vector<std::string>& budget_quantities();

// `quantity` must be one of budget_quantities().
[[nodiscard]] BudgetFigure budget_figure(const Prediction& prediction, std::string_view quantity);

// Limits of one [[limits]] table.
struct BudgetLimits {
  std::string device;
  std::string model;  // a pattern of file names ("kws*.tflite"); empty: all
  bool require_in_range = false;
  std::map<std::string, double> at_most;  // quantity -> limit
};

struct Budget {
  double level = 0.9;
  std::string baseline;  // file; as seen from the working directory
  std::vector<BudgetLimits> limits;
  std::map<std::string, double> growth_percent;  // quantity -> allowed growth over the baseline

  [[nodiscard]] std::vector<std::string> devices() const;  // each once, in the file's order
};

// kInvalidArgument with file and key for what the format does not have; quantities and keys that
// are misspelt are answered with the closest name.
[[nodiscard]] Result<Budget> read_budget(const std::filesystem::path& path);

// Whether the limits hold for a model file.
[[nodiscard]] bool holds_for(const BudgetLimits& limits, const std::string& model);

// Figures of an earlier state.
struct BaselineEntry {
  std::string model, device, predictor_id;
  std::map<std::string, double> values;
};

// Reads what write_baseline wrote, or the answer of `edgesage predict --format json`.
[[nodiscard]] Result<std::vector<BaselineEntry>> read_baseline(const std::filesystem::path& path);
[[nodiscard]] Status write_baseline(const Answers<Prediction>& answers,
                                    const std::filesystem::path& path);

// The entry of a model on a device: of the same path, else of the same file name; null: none.
[[nodiscard]] const BaselineEntry* find_entry(const std::vector<BaselineEntry>& entries,
                                              const std::string& model, std::string_view device);

}  // namespace edgesage::app
