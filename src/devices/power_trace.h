// The CSV of an external power monitor, aligned to the runs by a marker.
//
// Columns by name, with their unit: time_s, time_ms or time_us; power_w, power_mw or power_uw, or a
// current (current_a, current_ma, current_ua) and a voltage (voltage_v, voltage_mv); and marker,
// which the device raises (a pin, above half of the column's largest value) while it runs
// inferences: so many in each of its windows.
#pragma once

#include <cstdint>
#include <string_view>

#include "edgesage/result.h"
#include "src/devices/foreign_report.h"

namespace edgesage {

// Energy of an inference above what is drawn outside the windows, and the mean time of one.
// kInvalidArgument for columns that are missing, cells that are no number, times that go back, no
// window, a window that is cut off by an end of the file, no idle time, or fewer than ten samples
// in a window. Energy that is not above idle is missing, with that reason.
[[nodiscard]] Result<ForeignReport> read_power_trace(std::string_view text, std::string_view where,
                                                     int64_t inferences_a_window);

}  // namespace edgesage
