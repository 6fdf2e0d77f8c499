#include "tools/edgesage/worker_flags.h"

namespace edgesage::cli {
namespace {

std::string check_pair(const std::string& pair) {
  const size_t sign = pair.find('=');
  return sign == std::string::npos || sign == 0 ? pair + " is not of the form NAME=VALUE" : "";
}

}  // namespace

void WorkerFlags::add(CLI::App& command) {
  command.add_option("--threads", threads, "Threads of a runtime that has them")
      ->check(CLI::Range(1, 1024));
  command
      .add_option("--cores", cores, "Cores to run on, e.g. 0,1 or 4-7; labels of them stand apart")
      ->type_name("LIST");
  command.add_option("--option", pairs, "Option of the device's worker, NAME=VALUE; repeatable")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CLI::Validator(check_pair, ""));
  command.add_option("--deadline", deadline_s, "Seconds that one measurement may take")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 86400.0))
      ->capture_default_str();
}

std::vector<std::pair<std::string, std::string>> WorkerFlags::options() const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& pair : pairs) {
    const size_t sign = pair.find('=');
    out.emplace_back(pair.substr(0, sign), pair.substr(sign + 1));
  }
  if (threads > 0) out.emplace_back("threads", std::to_string(threads));
  if (!cores.empty()) out.emplace_back("cores", cores);
  return out;
}

std::chrono::milliseconds WorkerFlags::deadline() const {
  return std::chrono::milliseconds(static_cast<int64_t>(deadline_s * 1e3));
}

}  // namespace edgesage::cli
