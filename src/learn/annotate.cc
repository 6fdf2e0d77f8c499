#include "src/learn/annotate.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <unordered_set>
#include <utility>

#include "src/base/cpu_time.h"
#include "src/learn/annotate_network.h"
#include "src/learn/work_queue.h"

namespace edgesage {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Lets threads through one at a time, by their numbers.
class Turnstile {
 public:
  void wait(size_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return next_ == number; });
  }
  void leave() {
    const std::scoped_lock lock(mutex_);
    ++next_;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t next_ = 0;
};

struct Outcome {
  int64_t network_id = 0;
  Measurement measurement;
  double seconds = 0;
};

// One pass of one device over all names.
class Pass {
 public:
  Pass(Store& store, NetworkIndex& index, const AnnotateOptions& options,
       const AnnotateDevice& device, int repeat, const WorkDir& dir)
      : store_(store),
        index_(index),
        options_(options),
        device_(device),
        dir_(dir),
        jobs_(static_cast<size_t>(std::max(1, options.ahead))),
        outcomes_(256) {
    result_.device = device.name;
    result_.repeat = repeat;
  }

  Result<AnnotatePass> run(std::span<const std::string> names,
                           const std::function<void(const AnnotateProgress&)>& progress) {
    start_ = Clock::now();
    const CpuSeconds before = cpu_seconds();
    result_.names = static_cast<int64_t>(names.size());
    std::vector<std::unique_ptr<Measurer>> workers;
    EDGESAGE_ASSIGN_OR_RETURN(auto first, device_.open());
    result_.host_fingerprint = first->host_fingerprint();
    workers.push_back(std::move(first));
    EDGESAGE_RETURN_IF_ERROR(choose(names));
    const size_t wanted = std::min(static_cast<size_t>(std::max(1, device_.workers)), todo_.size());
    while (workers.size() < wanted) {
      EDGESAGE_ASSIGN_OR_RETURN(auto worker, device_.open());
      workers.push_back(std::move(worker));
    }
    result_.workers = static_cast<int>(workers.size());
    report(progress);
    measure_all(workers, progress);
    // Their time counts once they have ended.
    workers.clear();
    const CpuSeconds after = cpu_seconds();
    result_.own_cpu_seconds = after.own - before.own;
    result_.worker_cpu_seconds = after.ended_processes - before.ended_processes;
    result_.seconds = seconds_since(start_);
    if (error_) return tl::unexpected(*error_);
    return result_;
  }

 private:
  // What of the list is left to do.
  Status choose(std::span<const std::string> names) {
    std::unordered_set<std::string_view> seen;
    for (const std::string& name : names) {
      const NetworkRecord* known = index_.find(name);
      if (!seen.insert(name).second) {
        ++result_.already;
      } else if (known == nullptr) {
        todo_.push_back(name);
      } else if (known->duplicate_of) {
        ++result_.duplicates;
      } else {
        EDGESAGE_ASSIGN_OR_RETURN(
            const auto found,
            store_.find({known->id, device_.name, result_.host_fingerprint, result_.repeat}));
        const bool again = found == Store::Known::kFailure && options_.retry_failures;
        if (found == Store::Known::kNothing || again)
          todo_.push_back(name);
        else
          ++result_.already;
      }
    }
    return {};
  }

  void measure_all(std::vector<std::unique_ptr<Measurer>>& workers,
                   const std::function<void(const AnnotateProgress&)>& progress) {
    // Builders are quicker than most workers; on a quiet device one at a time may work anyway.
    const size_t builders = device_.quiet ? 1 : std::max<size_t>(1, workers.size() / 2);
    std::atomic<size_t> building = builders, measuring = workers.size();
    std::vector<std::thread> threads;
    for (size_t i = 0; i < builders; ++i)
      threads.emplace_back([&] {
        build_some();
        if (--building == 0) jobs_.close();
      });
    for (auto& worker : workers)
      threads.emplace_back([&] {
        measure_some(*worker);
        if (--measuring == 0) outcomes_.close();
      });
    while (const auto outcome = outcomes_.take())
      if (!store_failed_) {
        keep(*outcome);
        report(progress);
      }
    for (std::thread& thread : threads) thread.join();
    report(progress);
  }

  // Builds the next networks of the list until there are none; they are entered in the order of the
  // list, so that which of two equal graphs is the duplicate does not depend on timing.
  void build_some() {
    for (size_t i; (i = next_++) < todo_.size();) {
      std::optional<BuiltNetwork> built;
      if (!ending()) {
        const std::unique_lock<std::mutex> quiet = quiet_lock();
        const auto start = Clock::now();
        auto result = build_network_file(todo_[i], options_, dir_);
        add_seconds(result_.build_seconds, start);
        if (result)
          built = std::move(*result);
        else
          fail(result.error());
      }
      turnstile_.wait(i);
      if (built && !ending()) enter(*built);
      turnstile_.leave();
      if (built && (built->passed_over || built->record.duplicate_of || ending() ||
                    !jobs_.put(std::move(*built))))
        remove(*built);
    }
  }

  void enter(BuiltNetwork& built) {
    if (built.passed_over) {
      ++new_passed_over_;
      return;
    }
    auto record = index_.enter(built.record);
    if (!record) return fail(record.error());
    built.record = *record;
    if (record->duplicate_of) ++new_duplicates_;
  }

  void measure_some(Measurer& worker) {
    while (const auto job = jobs_.take()) {
      if (!ending()) measure_one(worker, *job);
      remove(*job);
    }
  }

  void measure_one(Measurer& worker, const BuiltNetwork& job) {
    Outcome outcome;
    outcome.network_id = job.record.id;
    outcome.measurement.error = job.failure;
    if (job.failure.empty()) {
      const std::unique_lock<std::mutex> quiet = quiet_lock();
      const auto start = Clock::now();
      auto measured = worker.measure(job.file);
      outcome.seconds = seconds_since(start);
      if (!measured) return fail(measured.error());
      outcome.measurement = std::move(*measured);
    }
    // Under the key that resuming looks for, whatever a failed run could say of itself.
    outcome.measurement.device = device_.name;
    outcome.measurement.host_fingerprint = result_.host_fingerprint;
    outcomes_.put(std::move(outcome));
  }

  void keep(const Outcome& outcome) {
    Measurement measurement = outcome.measurement;
    auto added = store_.add_measurement(outcome.network_id, measurement, result_.repeat);
    if (!added && added.error().code == ErrorCode::kInvalidArgument) {
      Measurement refused;
      refused.device = measurement.device;
      refused.runtime = measurement.runtime;
      refused.runtime_version = measurement.runtime_version;
      refused.host_fingerprint = measurement.host_fingerprint;
      refused.protocol = measurement.protocol;
      refused.environment = measurement.environment;
      refused.error = "the answer makes no sense: " + added.error().message;
      measurement = std::move(refused);
      added = store_.add_measurement(outcome.network_id, measurement, result_.repeat);
    }
    if (!added) {
      store_failed_ = true;
      return fail(added.error());
    }
    ++(measurement.error.empty() ? result_.measured : result_.failed);
    result_.worker_seconds += outcome.seconds;
  }

  void report(const std::function<void(const AnnotateProgress&)>& progress) {
    result_.duplicates += new_duplicates_.exchange(0);
    result_.passed_over += new_passed_over_.exchange(0);
    if (!progress) return;
    AnnotateProgress now;
    now.device = device_.name;
    now.pass = result_.repeat;
    now.passes = device_.repeats;
    now.total = result_.names;
    const int64_t fresh = result_.measured + result_.failed;
    now.done = fresh + result_.already + result_.duplicates + result_.passed_over;
    now.failed = result_.failed;
    if (fresh > 0) {
      now.per_second = static_cast<double>(fresh) / seconds_since(start_);
      now.seconds_left = static_cast<double>(now.total - now.done) / now.per_second;
    }
    progress(now);
  }

  [[nodiscard]] std::unique_lock<std::mutex> quiet_lock() {
    return device_.quiet ? std::unique_lock(quiet_mutex_) : std::unique_lock<std::mutex>();
  }

  void add_seconds(double& sum, Clock::time_point start) {
    const std::scoped_lock lock(mutex_);
    sum += seconds_since(start);
  }

  // The first error ends the pass.
  void fail(const Error& error) {
    const std::scoped_lock lock(mutex_);
    if (!error_) error_ = error;
    failed_ = true;
  }
  [[nodiscard]] bool ending() const {
    return failed_ || (options_.stop != nullptr && options_.stop->load());
  }

  static void remove(const BuiltNetwork& network) {
    std::error_code ignored;
    if (network.is_temporary && !network.file.empty()) fs::remove(network.file, ignored);
  }

  Store& store_;
  NetworkIndex& index_;
  const AnnotateOptions& options_;
  const AnnotateDevice& device_;
  const WorkDir& dir_;
  AnnotatePass result_;  // the calling thread's, but for build_seconds
  bool store_failed_ = false;
  Clock::time_point start_;
  std::vector<std::string> todo_;
  std::atomic<size_t> next_ = 0;
  Turnstile turnstile_;
  WorkQueue<BuiltNetwork> jobs_;
  WorkQueue<Outcome> outcomes_;
  std::atomic<int64_t> new_duplicates_ = 0, new_passed_over_ = 0;
  std::mutex quiet_mutex_;
  std::mutex mutex_;  // of error_ and build_seconds
  std::optional<Error> error_;
  std::atomic<bool> failed_ = false;
};

// One stored network, built again, must be what it was: a store of another build of the spaces is
// found out before anything is skipped.
Status check_first_known(std::span<const std::string> names, const NetworkIndex& index,
                         const AnnotateOptions& options, const WorkDir& dir) {
  for (const std::string& name : names) {
    const NetworkRecord* known = index.find(name);
    if (known == nullptr) continue;
    AnnotateOptions as_stored = options;
    as_stored.accept = {};
    EDGESAGE_ASSIGN_OR_RETURN(const BuiltNetwork built, build_network_file(name, as_stored, dir));
    return index.check_same(*known, built.record);
  }
  return {};
}

}  // namespace

Result<AnnotateReport> annotate(Store& store, std::span<const std::string> names,
                                const AnnotateOptions& options,
                                const std::function<void(const AnnotateProgress&)>& progress) {
  EDGESAGE_ASSIGN_OR_RETURN(const auto dir, WorkDir::make(options.work_dir));
  EDGESAGE_ASSIGN_OR_RETURN(NetworkIndex index, NetworkIndex::load(store));
  EDGESAGE_RETURN_IF_ERROR(check_first_known(names, index, options, *dir));
  AnnotateReport report;
  const auto stopped = [&] { return options.stop != nullptr && options.stop->load(); };
  for (const AnnotateDevice& device : options.devices)
    for (int repeat = 0; repeat < device.repeats && !stopped(); ++repeat) {
      Pass pass(store, index, options, device, repeat, *dir);
      EDGESAGE_ASSIGN_OR_RETURN(AnnotatePass done, pass.run(names, progress));
      report.passes.push_back(std::move(done));
    }
  report.stopped = stopped();
  return report;
}

}  // namespace edgesage
