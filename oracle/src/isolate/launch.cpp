// SPDX-License-Identifier: Apache-2.0
#include "launch.h"

#include <unistd.h>

#include <cstdio>

#include "arena.h"
#include "mote/base/error.h"
#include "serve.h"
#include "zygote.h"

namespace mote::isolate {

pid_t Launcher::start(const Inheritance& given) const {
  return start_program(words_.front().c_str(), words_,
                       {std::string(kWorkerVariable) + "=" + to_text(given)}, given);
}

namespace {

/// Maps the arena and serves; ends the process if its addresses are not free.
template <typename F>
[[noreturn]] void with_arena(const Inheritance& given, const F& serves) {
  try {
    const Arena arena(given.arena_file, given.arena_base);
    serves(arena);
  } catch (const Error& e) {
    std::fprintf(stderr, "mote: %s\n", e.what());
  }
  _exit(127);
}

}  // namespace

void serve_workers(const std::string& given, const mote_backend& backend,
                   pid_t (*fork_process)(int socket)) {
  const Inherited got = inheritance_in(given);
  with_arena(got.given, [&](const Arena& arena) {
    fork_on_demand(got.given.socket, got.parent, arena, {&backend, fork_process});
  });
}

void serve_worker(const std::string& given, int socket, const mote_backend& backend) {
  with_arena(inheritance_in(given).given,
             [&](const Arena& arena) { serve(socket, "", arena, &backend); });
}

}  // namespace mote::isolate
