// This machine: what identifies it for labels, and its state while measuring.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace worker {

// 16 hexadecimal digits over the CPU's model, its flags, the number of its threads and its caches;
// not the host's name, its clock or its memory.
std::string host_fingerprint();

// cpu_model, cpus, kernel, load_average, governor.
std::map<std::string, std::string> host_environment();

// "0-3,6": the CPUs that this process may run on.
std::string affinity();

// Raises the priority of this thread, and of those that it starts, while it lives, where the system
// allows it: on a busy machine long inferences are otherwise interrupted in every run.
class RaisedPriority {
 public:
  explicit RaisedPriority(bool wanted);
  ~RaisedPriority();
  RaisedPriority(const RaisedPriority&) = delete;
  RaisedPriority& operator=(const RaisedPriority&) = delete;
  // "nice -15", "nice 0: may not be raised"
  const std::string& description() const { return description_; }

 private:
  int before_ = 0;
  bool raised_ = false;
  std::string description_;
};

// "0,1,4-7" as the CPUs in it. Throws Refused.
std::vector<int> parse_cores(const std::string& text);

// Restricts this thread, and those that it starts, to some CPUs while it lives. Throws Refused.
class Pinned {
 public:
  explicit Pinned(const std::vector<int>& cores);  // none: nothing happens
  ~Pinned();
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  std::string before_;  // a cpu_set_t
};

}  // namespace worker
