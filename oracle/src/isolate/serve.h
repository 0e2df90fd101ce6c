// SPDX-License-Identifier: Apache-2.0
// The worker's side of the protocol.
#pragma once

#include <string>

#include "arena.h"
#include "mote/base/kernel.h"

namespace mote::isolate {

/// Answers questions from the socket until it is closed, and then ends the process. `library` is
/// empty if the subject is in this image: `own`, or if that is null the one of the question. Must be called in a process that was forked for it.
[[noreturn]] void serve(int socket, const std::string& library, const Arena& arena,
                        const mote_backend* own = nullptr);

}  // namespace mote::isolate
