// What starting child processes needs here: pipes, and settings for posix_spawn. Private to this
// folder.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace edgesage::spawn {

inline void close_fd(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

// Both ends of a channel; closed unless taken.
struct Ends {
  int ours = -1, theirs = -1;
  Ends() = default;
  ~Ends() {
    close_fd(ours);
    close_fd(theirs);
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
};

// Above the numbers that the child is given, so that no dup2 there overwrites another source.
inline bool lift(int& fd) {
  const int lifted = fcntl(fd, F_DUPFD_CLOEXEC, 10);
  close_fd(fd);
  fd = lifted;
  return lifted >= 0;
}

// We read without blocking, the child writes.
inline bool open_pipe(Ends& ends) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return false;
  ends.ours = fds[0];
  ends.theirs = fds[1];
  return lift(ends.theirs) && fcntl(ends.ours, F_SETFL, O_NONBLOCK) == 0;
}

// A process group of its own, no signal blocked or ignored.
class Settings {
 public:
  Settings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Settings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

inline bool has_ended(pid_t pid) {
  siginfo_t info{};
  // WNOWAIT keeps the zombie, and with it the number of the process group, until it is reaped.
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
}

}  // namespace edgesage::spawn
