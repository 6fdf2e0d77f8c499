// Timing a prepared model: warm-up until the timings no longer fall, then several short bursts
// spaced in time, so that one disturbance of the machine does not cover all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace worker {

// What a sample counts. A process's own time leaves out what other programs take from it, which on
// a busy machine is most of a long inference; with one thread and an idle machine both are the
// same.
enum class SampleClock { kWall, kProcess };

struct TimingOptions {
  SampleClock clock = SampleClock::kProcess;
  int64_t min_runs = 30;  // inferences in all bursts together
  int64_t max_runs = 1'000'000;
  double min_time_ms = 150;   // in all bursts together
  double max_time_ms = 3000;  // stops even below min_runs, after one inference a burst
  int64_t bursts = 3;
  double burst_gap_ms = 20;
};

struct Timings {
  double first_ms = 0;
  int64_t warm_up_runs = 0;
  int64_t runs = 0;                    // after the warm-up
  int64_t invocations_per_sample = 1;  // more than one below 20 us: a clock read would count
  int64_t samples_taken = 0;           // before thinning
  double timer_ns = 0;                 // cost of reading the clock once
  double wall_p50_ms = 0;              // of all samples, whatever the clock
  // In the order in which they were taken; at most 1,000 (every n-th, and always the fastest).
  std::vector<double> samples_ms;
};

// `run` is one inference; `beat` is called about once a second between inferences.
Timings time_model(const std::function<void()>& run, const TimingOptions& options,
                   const std::function<void()>& beat);

}  // namespace worker
