#include "tools/edgesage/session.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "src/base/file.h"
#include "src/base/text.h"

namespace edgesage::cli {
namespace {

std::atomic<bool> stop_wanted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal handler");

void on_interrupt(int) {
  stop_wanted = true;
  // The second one is not ours any more.
  signal(SIGINT, SIG_DFL);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

size_t terminal_columns(int descriptor) {
  struct winsize size {};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
}

std::string cut_lines(std::string_view text, size_t columns) {
  std::string out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    out +=
        line.size() <= columns ? std::string(line) : std::string(line.substr(0, columns - 1)) + '>';
    text.remove_prefix(line.size());
    if (text.empty()) break;
    out += '\n';
    text.remove_prefix(1);
  }
  return out;
}

std::filesystem::path program_path() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path() : path;
}

// The tree with devices/, predictors/ and workers/: EDGESAGE_HOME, an installed share/edgesage, or
// the source tree that the program was built in.
std::filesystem::path find_home(const std::filesystem::path& folder) {
  if (const std::string home = environment("EDGESAGE_HOME"); !home.empty()) return home;
  for (const auto& candidate : {folder / ".." / "share" / "edgesage", folder / ".."}) {
    std::error_code ignored;
    if (std::filesystem::is_directory(candidate / "devices", ignored))
      return std::filesystem::weakly_canonical(candidate, ignored);
  }
  return EDGESAGE_HOME_DIR;
}

// Compiled workers: an installed libexec/edgesage, or beside the program in a build.
std::filesystem::path find_workers(const std::filesystem::path& folder) {
  std::error_code ignored;
  const std::filesystem::path installed = folder / ".." / "libexec" / "edgesage";
  return std::filesystem::is_directory(installed, ignored)
             ? std::filesystem::weakly_canonical(installed, ignored)
             : folder / "workers";
}

std::string check_description(const std::string& path) {
  return std::filesystem::path(path).extension() == ".toml"
             ? ""
             : path + " does not end in .toml; a directory of them is given with --device-dir";
}

// $XDG_CONFIG_HOME/edgesage/devices, or below ~/.config; empty where neither is known.
std::filesystem::path user_devices() {
  const std::string config = environment("XDG_CONFIG_HOME"), home = environment("HOME");
  if (config.empty() && home.empty()) return {};
  const auto base =
      config.empty() ? std::filesystem::path(home) / ".config" : std::filesystem::path(config);
  return base / "edgesage" / "devices";
}

}  // namespace

bool interrupted() { return stop_wanted; }

void handle_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  // A reader that closes the pipe early is told by the failing write.
  signal(SIGPIPE, SIG_IGN);
}

Session::Session() : terminal_(isatty(STDERR_FILENO) != 0) {}

void Session::add_common(CLI::App& command) {
  command.add_flag("--quiet", quiet_, "No progress and no notes on stderr");
  command.add_flag("--no-color", no_color_, "No colours (also: the variable NO_COLOR)");
}

void Session::add_output(CLI::App& command) {
  command.add_option("-o,--output", output_, "File for the result; - is standard output")
      ->type_name("FILE");
}

void Session::add_devices(CLI::App& command) {
  command
      .add_option("--device-file", device_files_,
                  "A device description (*.toml) of your own; repeatable")
      ->type_name("FILE")
      ->check(CLI::Validator(check_description, ""))
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--device-dir", device_directories_,
                  "Directory with device descriptions (*.toml) of your own; repeatable")
      ->type_name("DIR")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

app::Context Session::context() {
  app::Context context;
  const std::filesystem::path folder = program_path().parent_path();
  const std::filesystem::path home = find_home(folder);
  context.places.source_dir = home;
  context.places.worker_dir = find_workers(folder);
  for (const std::string& file : device_files_) context.device_directories.emplace_back(file);
  for (const std::string& directory : device_directories_)
    context.device_directories.emplace_back(directory);
  for (const std::string& directory : split(environment("EDGESAGE_DEVICE_PATH"), ':'))
    if (!directory.empty()) context.device_directories.emplace_back(directory);
  if (const auto own = user_devices(); !own.empty()) context.device_directories.push_back(own);
  context.device_directories.push_back(home / "devices");
  for (const std::string& directory : split(environment("EDGESAGE_PREDICTOR_PATH"), ':'))
    if (!directory.empty()) context.predictor_directories.emplace_back(directory);
  context.predictor_directories.push_back(home / "predictors");
  started_ = std::chrono::steady_clock::now();
  shown_ = started_;
  if (!quiet_)
    context.progress = [this](int64_t done, int64_t total, std::string_view what) {
      show_progress(done, total, what);
    };
  context.note = [this](std::string_view what) { note(what); };
  context.stop = &stop_wanted;
  return context;
}

int Session::write(std::string_view text, int code) {
  end_progress_line();
  if (output_ != "-") {
    const Status written = write_text(output_, text);
    return written ? code
                   : fail({ErrorCode::kInvalidArgument, written.error().where,
                           written.error().message});
  }
  const bool done =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (done || errno == EPIPE) return code;
  return fail({ErrorCode::kInvalidArgument, "standard output",
               "cannot write the result; is the disk full? name a file with --output"});
}

int Session::show(std::string_view text, int code) {
  if (output_ != "-" || isatty(STDOUT_FILENO) == 0) return write(text, code);
  return write(cut_lines(text, terminal_columns(STDOUT_FILENO)), code);
}

int Session::fail(const Error& error) {
  end_progress_line();
  const bool color = terminal_ && !no_color_ && environment("NO_COLOR").empty();
  fmt::print(stderr, "{}edgesage: error:{} {}\n", color ? "\033[31m" : "", color ? "\033[0m" : "",
             error.to_string());
  return static_cast<int>(error.code);
}

void Session::warn(std::string_view message) {
  end_progress_line();
  const bool color = terminal_ && !no_color_ && environment("NO_COLOR").empty();
  fmt::print(stderr, "{}edgesage: warning:{} {}\n", color ? "\033[33m" : "", color ? "\033[0m" : "",
             message);
}

void Session::note(std::string_view message) {
  end_progress_line();
  if (!quiet_) fmt::print(stderr, "edgesage: {}\n", message);
}

void Session::show_progress(int64_t done, int64_t total, std::string_view what) {
  using namespace std::chrono_literals;
  const auto now = std::chrono::steady_clock::now();
  const auto interval =
      terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(5000);
  // Work comes in phases (networks, then epochs), and may go on where an earlier run stopped: the
  // time left follows from what this phase did in this run.
  if (total != phase_.total || done < phase_.done) phase_ = {now, done, done, total};
  phase_.done = done;
  if (now - shown_ < interval) return;
  shown_ = now;
  const double seconds = std::chrono::duration<double>(now - started_).count();
  const double phase_seconds = std::chrono::duration<double>(now - phase_.started).count();
  std::string left;
  if (done > phase_.first && total > done)
    left = fmt::format(", {:.0f} s left", phase_seconds / static_cast<double>(done - phase_.first) *
                                              static_cast<double>(total - done));
  if (!terminal_) {
    fmt::print(stderr, "edgesage: {} of {} after {:.0f} s{} {}\n", done, total, seconds, left,
               what);
    return;
  }
  constexpr int64_t kWidth = 20;
  const auto filled = static_cast<size_t>(total > 0 ? kWidth * std::min(done, total) / total : 0);
  const std::string line =
      fmt::format("[{:<{}}] {}/{}{} {}", std::string(filled, '#'), kWidth, done, total, left, what);
  fmt::print(stderr, "\r\033[K{}",
             std::string_view(line).substr(0, terminal_columns(STDERR_FILENO) - 1));
  std::fflush(stderr);
  line_open_ = true;
}

void Session::end_progress_line() {
  if (line_open_) fmt::print(stderr, "\r\033[K");
  line_open_ = false;
}

}  // namespace edgesage::cli
