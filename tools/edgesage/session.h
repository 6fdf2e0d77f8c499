// What every command of the tool shares: where results, diagnostics and progress go, how it is
// interrupted, and where it finds devices and predictors.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "edgesage/result.h"
#include "src/app/context.h"

namespace edgesage::cli {

// The exit code of a command that was interrupted and has kept what was finished.
inline constexpr int kInterrupted = 130;

class Session {
 public:
  Session();

  // --quiet, --no-color.
  void add_common(CLI::App& command);
  // --output: where the result goes.
  void add_output(CLI::App& command);
  // --device-file and --device-dir, for commands that know devices.
  void add_devices(CLI::App& command);

  // Places of devices and predictors, progress on stderr, interruption.
  [[nodiscard]] app::Context context();

  // Writes a result to stdout or --output. Returns the exit code: `code`, or 2 where the output
  // cannot be written.
  int write(std::string_view text, int code = 0);

  // The same for text that people read: on a terminal, lines that are longer than it is wide end in
  // '>' instead of breaking the table.
  int show(std::string_view text, int code = 0);

  // "edgesage: error: ..." on stderr; returns the exit code.
  int fail(const Error& error);
  void warn(std::string_view message);
  void note(std::string_view message);  // silent with --quiet

 private:
  void show_progress(int64_t done, int64_t total, std::string_view what);
  void end_progress_line();

  bool quiet_ = false;
  bool no_color_ = false;
  std::string output_ = "-";
  std::vector<std::string> device_files_;
  std::vector<std::string> device_directories_;
  bool terminal_ = false;
  bool line_open_ = false;  // a progress bar stands on the terminal's last line
  std::chrono::steady_clock::time_point started_, shown_;
  struct Phase {
    std::chrono::steady_clock::time_point started;
    int64_t first = 0, done = 0, total = -1;
  };
  Phase phase_;
};

// True once the user has asked to stop (Ctrl-C); a second time ends the program at once.
[[nodiscard]] bool interrupted();
void handle_interrupts();

}  // namespace edgesage::cli
