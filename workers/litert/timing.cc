#include "workers/litert/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

namespace worker {
namespace {

using Clock = std::chrono::steady_clock;
using Ms = std::chrono::duration<double, std::milli>;

constexpr size_t kMaxSamples = 1000;
constexpr double kMinSampleMs = 0.02;
constexpr double kTimerShare = 0.005;
constexpr double kWarmUpMaxMs = 500;

double ms_since(Clock::time_point start) { return Ms(Clock::now() - start).count(); }

double timer_cost_ms() {
  constexpr int kReads = 1000;
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < kReads; ++i) {
    const volatile auto now = Clock::now().time_since_epoch().count();
    static_cast<void>(now);
  }
  return ms_since(start) / kReads;
}

// Beats at most once a second.
class Pulse {
 public:
  explicit Pulse(const std::function<void()>& beat) : beat_(beat) {}
  void maybe() {
    if (ms_since(last_) < 1000) return;
    beat_();
    last_ = Clock::now();
  }

 private:
  const std::function<void()>& beat_;
  Clock::time_point last_ = Clock::now();
};

// Keeps a bounded, ordered subset of a series that always holds its minimum.
class Thinner {
 public:
  void add(double sample) {
    ++taken_;
    const bool fastest = sample < lowest_;
    lowest_ = std::min(lowest_, sample);
    if ((taken_ - 1) % stride_ == 0) {
      samples_.push_back(sample);
    } else if (fastest && !samples_.empty()) {
      samples_.back() = sample;
    }
    if (samples_.size() > kMaxSamples) halve();
  }
  int64_t taken() const { return taken_; }
  std::vector<double> samples() { return std::move(samples_); }

 private:
  void halve() {
    std::vector<double> kept;
    for (size_t i = 0; i < samples_.size(); i += 2) {
      const bool second = i + 1 < samples_.size() && samples_[i + 1] == lowest_;
      kept.push_back(second ? samples_[i + 1] : samples_[i]);
    }
    samples_ = std::move(kept);
    stride_ *= 2;
  }

  std::vector<double> samples_;
  double lowest_ = std::numeric_limits<double>::infinity();
  int64_t taken_ = 0, stride_ = 1;
};

// Runs in windows until a window's fastest inference is not 1 % faster than the one before; returns
// the fastest seen.
double warm_up(const std::function<void()>& run, Timings& timings, Pulse& pulse) {
  double fastest = timings.first_ms, before = std::numeric_limits<double>::infinity();
  const Clock::time_point start = Clock::now();
  for (int quiet = 0; quiet < 2 && (timings.warm_up_runs == 0 || ms_since(start) < kWarmUpMaxMs);) {
    double window = std::numeric_limits<double>::infinity();
    const Clock::time_point window_start = Clock::now();
    for (int i = 0; i < 3 || ms_since(window_start) < 3; ++i) {
      const Clock::time_point run_start = Clock::now();
      run();
      window = std::min(window, ms_since(run_start));
      ++timings.warm_up_runs;
      pulse.maybe();
      if (ms_since(start) > kWarmUpMaxMs) break;
    }
    quiet = window > 0.99 * before ? quiet + 1 : 0;
    before = std::min(before, window);
    fastest = std::min(fastest, window);
  }
  return fastest;
}

}  // namespace

Timings time_model(const std::function<void()>& run, const TimingOptions& options,
                   const std::function<void()>& beat) {
  Timings timings;
  Pulse pulse(beat);
  const Clock::time_point first = Clock::now();
  run();
  timings.first_ms = ms_since(first);
  const double estimate = std::max(warm_up(run, timings, pulse), 1e-6);

  const double timer = timer_cost_ms();
  timings.timer_ns = timer * 1e6;
  if (estimate < kMinSampleMs)
    timings.invocations_per_sample =
        static_cast<int64_t>(std::ceil(std::max(kMinSampleMs, timer / kTimerShare) / estimate));

  const auto share = [&](double whole) { return whole / static_cast<double>(options.bursts); };
  Thinner thinner;
  for (int64_t burst = 0; burst < options.bursts; ++burst) {
    if (burst > 0) {
      std::this_thread::sleep_for(Ms(options.burst_gap_ms));
      run();  // what the pause cooled down
      ++timings.warm_up_runs;
    }
    const Clock::time_point start = Clock::now();
    for (int64_t runs = 0;;) {
      const Clock::time_point sample_start = Clock::now();
      for (int64_t i = 0; i < timings.invocations_per_sample; ++i) run();
      const double elapsed = ms_since(sample_start);
      thinner.add(elapsed / static_cast<double>(timings.invocations_per_sample));
      runs += timings.invocations_per_sample;
      timings.runs += timings.invocations_per_sample;
      pulse.maybe();
      const double spent = ms_since(start);
      const auto done = static_cast<double>(runs);
      if (done >= share(static_cast<double>(options.max_runs)) ||
          spent >= share(options.max_time_ms))
        break;
      if (done >= share(static_cast<double>(options.min_runs)) &&
          spent >= share(options.min_time_ms))
        break;
    }
  }
  timings.samples_taken = thinner.taken();
  timings.samples_ms = thinner.samples();
  return timings;
}

}  // namespace worker
