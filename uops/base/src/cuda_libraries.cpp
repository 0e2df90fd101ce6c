// SPDX-License-Identifier: Apache-2.0
#include "mote/base/cuda_libraries.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

namespace mote {

namespace {

std::vector<std::string> candidates(const char* variable,
                                    std::initializer_list<const char*> names) {
  const char* given = std::getenv(variable);
  if (given != nullptr && *given != '\0') return {given};
  std::vector<std::string> folders = {""};
  if (const char* home = std::getenv("CUDA_HOME"); home != nullptr && *home != '\0')
    folders.push_back(std::string(home) + "/lib64/");
  folders.emplace_back("/usr/local/cuda/lib64/");
  std::vector<std::string> all;
  for (const std::string& folder : folders)
    for (const char* name : names) all.push_back(folder + name);
  return all;
}

constexpr unsigned kMaxSeconds = 60;

/// Exits with the number of GPUs as the exit code.
[[noreturn]] void count_and_exit() noexcept {
  constexpr int kGreatestMagnitude = 100;
  dup2(STDERR_FILENO, STDOUT_FILENO);
  alarm(kMaxSeconds);
  void* const driver = dlopen(cuda_driver().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) _exit(0);
  const auto start = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto count = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  int found = 0;
  const bool known = start != nullptr && count != nullptr && start(0) == 0 && count(&found) == 0;
  _exit(known ? std::clamp(found, 0, kGreatestMagnitude) : 0);
}

}  // namespace

std::vector<std::string> nvrtc_candidates() {
  return candidates("MOTE_NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12"});
}

std::vector<std::string> cublas_candidates() {
  return candidates("MOTE_CUBLAS", {"libcublasLt.so.13", "libcublasLt.so.12"});
}

std::vector<std::string> cudnn_candidates() { return candidates("MOTE_CUDNN", {"libcudnn.so.9"}); }

std::string cuda_driver() {
  const char* given = std::getenv("MOTE_CUDA_DRIVER");
  return given != nullptr && *given != '\0' ? given : "libcuda.so.1";
}

int gpu_count() {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) count_and_exit();
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

}  // namespace mote
