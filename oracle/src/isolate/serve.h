// SPDX-License-Identifier: Apache-2.0
// What a worker does.
#pragma once

#include <string>

#include "arena.h"

namespace mote::isolate {

/// Answers questions from the socket until it is closed; then the process ends. `library` is empty
/// where the subject is in this image. Only in a process that was forked for it.
[[noreturn]] void serve(int socket, const std::string& library, const Arena& arena);

}  // namespace mote::isolate
