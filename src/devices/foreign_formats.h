// The readers behind foreign_report.h, and what they share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/csv.h"
#include "src/base/json.h"
#include "src/devices/foreign_report.h"

namespace edgesage::foreign {

using Reports = Result<std::vector<ForeignReport>>;

[[nodiscard]] Reports read_benchmark(std::string_view text, std::string_view where);
[[nodiscard]] Reports read_vela_summary(std::string_view text, std::string_view where);
[[nodiscard]] Reports read_vela_layers(std::string_view text, std::string_view where);
[[nodiscard]] Reports read_onnxruntime(std::string_view text, std::string_view where);
[[nodiscard]] Reports read_trtexec(std::string_view text, std::string_view where);
[[nodiscard]] Reports read_ai_hub(std::string_view text, std::string_view where);
[[nodiscard]] Reports read_mlperf_tiny(std::string_view text, std::string_view where);
[[nodiscard]] Reports read_label_table(std::string_view text, std::string_view where);

[[nodiscard]] tl::unexpected<Error> wrong(std::string_view where, std::string message);

// A number and nothing else; empty for anything else. "nan" and "inf" are numbers here.
[[nodiscard]] std::optional<double> number_in(std::string_view cell);

// Rows of a table that must be refused, gathered into one error.
class Refusals {
 public:
  // Why a figure cannot be a label; empty: it can.
  [[nodiscard]] static std::string why(std::optional<double> value, std::string_view text);
  void add(size_t row, size_t line, std::string_view column, std::string_view reason);
  [[nodiscard]] bool any() const { return count_ > 0; }
  [[nodiscard]] tl::unexpected<Error> error(std::string_view where) const;

 private:
  size_t count_ = 0, row_ = 0, line_ = 0;
  std::string column_, reason_;
};

// A series of latencies becomes samples and their least value; the first run apart where there is
// one before the series.
[[nodiscard]] Status take_series(ForeignReport& report, std::vector<double> samples_ms,
                                 std::string_view where, std::string_view what);

}  // namespace edgesage::foreign
