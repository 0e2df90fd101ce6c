// SPDX-License-Identifier: Apache-2.0
// Workers in a program of the caller's: a command that finds in its environment how to serve, and
// calls serve_workers().
#pragma once

#include <string>
#include <vector>

#include "mote/base/kernel.h"
#include "relaunch.h"

namespace mote::isolate {

/// The variable of the environment in which such a program finds what serve_workers() takes.
inline constexpr const char* kWorkerVariable = "MOTE_WORKER";

class Launcher : public Starter {
 public:
  /// Takes the words of a command line; the first is the path of a program.
  explicit Launcher(std::vector<std::string> words) : words_(std::move(words)) {}
  pid_t start(const Inheritance& given) const override;

 private:
  std::vector<std::string> words_;
};

/// Serves workers that run the backend, until the process that judges ends; Served describes
/// fork_process.
[[noreturn]] void serve_workers(const std::string& given, const mote_backend& backend,
                                pid_t (*fork_process)(int socket));
/// Is a worker that fork_process launched.
[[noreturn]] void serve_worker(const std::string& given, int socket, const mote_backend& backend);

}  // namespace mote::isolate
