// SPDX-License-Identifier: Apache-2.0
// Probes a library in a fork that loads it and exits. The child reports only through its exit code;
// the library's output goes to standard error, so that data on standard output stays data.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <set>

#include "mote/base/error.h"
#include "mote/base/plugin.h"
#include "mote/base/plugin_search.h"

namespace mote {
namespace {

// Exit codes that a library that calls exit() is unlikely to use.
constexpr int kSurvived = 113;
constexpr int kNoMemory = 114;
constexpr unsigned kSeconds = 30;

/// Loads the library and exits. An exception that the library throws ends the child too.
[[noreturn]] void load_and_exit(const std::string& path) noexcept {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  alarm(kSeconds);
  try {
    // Never closed: the library's destructors are not part of the probe.
    [[maybe_unused]] const Plugin* kept = std::make_unique<Plugin>(load_plugin(path)).release();
  } catch (const Error&) {
    _exit(kSurvived);
  } catch (const std::bad_alloc&) {
    _exit(kNoMemory);
  }
  _exit(kSurvived);
}

std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(number);
}

/// Returns how the child ended; empty if it survived.
std::string ending(int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
    return "was not loaded within " + std::to_string(kSeconds) + " s";
  }
  if (WIFSIGNALED(status)) {
    return "crashed while loading (" + signal_name(WTERMSIG(status)) + ")";
  }
  if (WEXITSTATUS(status) == kSurvived) return "";
  return "ended the process while loading (exit code " + std::to_string(WEXITSTATUS(status)) + ")";
}

}  // namespace

void probe_plugin(const std::string& path) {
  static std::mutex mutex;
  static std::set<std::string> survived;
  const std::lock_guard lock(mutex);
  if (survived.contains(path)) return;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) {
    throw Error("plug-in " + path + ": cannot be probed: " + std::strerror(errno));
  }
  if (child == 0) load_and_exit(path);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoMemory) throw std::bad_alloc();
  const std::string how = ending(status);
  if (!how.empty()) throw Error("plug-in " + path + ": " + how);
  survived.insert(path);
}

}  // namespace mote
