// SPDX-License-Identifier: Apache-2.0
#include "launch.h"

#include <unistd.h>

#include <cstdio>

#include "arena.h"
#include "mote/base/error.h"
#include "zygote.h"

namespace mote::isolate {

pid_t Launcher::start(const Inheritance& given) const {
  return start_program(words_.front().c_str(), words_,
                       {std::string(kWorkerVariable) + "=" + to_text(given)}, given);
}

void serve_workers(const std::string& given, const mote_backend& backend, pid_t (*fork_process)()) {
  const Inherited got = inheritance_in(given);
  try {
    const Arena arena(got.given.arena_file, got.given.arena_base);
    fork_on_demand(got.given.socket, got.parent, arena, {&backend, fork_process});
  } catch (const Error& e) {
    std::fprintf(stderr, "mote: %s\n", e.what());
    _exit(127);
  }
}

}  // namespace mote::isolate
