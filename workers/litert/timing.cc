#include "workers/litert/timing.h"

#include <time.h>

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

// Reads the clock that samples count in.
class Stopwatch {
 public:
  explicit Stopwatch(SampleClock clock)
      : id_(clock == SampleClock::kWall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID) {}
  double now_ms() const {
    timespec time{};
    clock_gettime(id_, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
  }
  double cost_ms() const {
    constexpr int kReads = 1000;
    const double start = now_ms();
    double last = start;
    for (int i = 0; i < kReads; ++i) last = now_ms();
    return (last - start) / kReads;
  }

 private:
  clockid_t id_;
};

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
double warm_up(const std::function<void()>& run, const Stopwatch& watch, Timings& timings,
               Pulse& pulse) {
  double fastest = timings.first_ms, before = std::numeric_limits<double>::infinity();
  const Clock::time_point start = Clock::now();
  for (int quiet = 0; quiet < 2 && (timings.warm_up_runs == 0 || ms_since(start) < kWarmUpMaxMs);) {
    double window = std::numeric_limits<double>::infinity();
    const Clock::time_point window_start = Clock::now();
    for (int i = 0; i < 3 || ms_since(window_start) < 3; ++i) {
      const double run_start = watch.now_ms();
      run();
      window = std::min(window, watch.now_ms() - run_start);
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
  const Stopwatch watch(options.clock);
  const Clock::time_point first = Clock::now();
  run();
  timings.first_ms = ms_since(first);
  const double estimate = std::max(warm_up(run, watch, timings, pulse), 1e-6);

  const double timer = watch.cost_ms();
  timings.timer_ns = timer * 1e6;
  if (estimate < kMinSampleMs)
    timings.invocations_per_sample =
        static_cast<int64_t>(std::ceil(std::max(kMinSampleMs, timer / kTimerShare) / estimate));

  const auto share = [&](double whole) { return whole / static_cast<double>(options.bursts); };
  Thinner thinner, wall;
  for (int64_t burst = 0; burst < options.bursts; ++burst) {
    if (burst > 0) {
      std::this_thread::sleep_for(Ms(options.burst_gap_ms));
      run();  // what the pause cooled down
      ++timings.warm_up_runs;
    }
    const Clock::time_point start = Clock::now();
    for (int64_t runs = 0;;) {
      const Clock::time_point wall_start = Clock::now();
      const double sample_start = watch.now_ms();
      for (int64_t i = 0; i < timings.invocations_per_sample; ++i) run();
      const auto batch = static_cast<double>(timings.invocations_per_sample);
      thinner.add((watch.now_ms() - sample_start) / batch);
      wall.add(ms_since(wall_start) / batch);
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
  std::vector<double> wall_ms = wall.samples();
  const auto middle = wall_ms.begin() + static_cast<std::ptrdiff_t>(wall_ms.size() / 2);
  std::nth_element(wall_ms.begin(), middle, wall_ms.end());
  timings.wall_p50_ms = *middle;
  return timings;
}

}  // namespace worker
