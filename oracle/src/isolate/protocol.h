// SPDX-License-Identifier: Apache-2.0
// What goes over the socket between this process and a worker: messages of fixed size, one answer
// to each question. Data lies in the arena.
#pragma once

#include <array>
#include <cstdint>

#include "mote/base/kernel.h"

namespace mote::isolate {

enum class Ask : std::uint32_t {
  load,      ///< the library; nothing where the subject is in the image that was forked
  describe,  ///< the library's backends, as text in the control memory
  choose,    ///< the kernel of a backend that takes the call, and its workspace
  run        ///< that kernel
};

/// Pages that the call may use.
struct Segment {
  char* begin;
  std::size_t bytes;
  bool written;
};

struct Question {
  Ask ask = Ask::load;
  std::int32_t backend_index = 0;         ///< in the library
  const mote_backend* backend = nullptr;  ///< where there is no library
  std::int32_t kernel_index = 0;
  std::int32_t segment_count = 0;
  const Segment* segments = nullptr;  ///< in the control memory, as is what the call points to
  mote_call* call = nullptr;
  double linger_s = 0;  ///< threads that appeared get that long to end
};

enum class Phase : std::uint32_t { asked, running, returned };

struct Reply {
  bool fault = false;  ///< a signal; the process ends by it
  Phase phase = Phase::asked;
  // Of a fault.
  std::int32_t signal = 0;
  std::int32_t code = 0;  ///< si_code: positive where the kernel of the system raised it
  bool wrote = false;     ///< the access was a write
  void* address = nullptr;
  // Of load, describe, choose and run.
  mote_status status = MOTE_OK;
  std::int32_t kernel_index = -1;
  std::size_t workspace = 0;
  std::size_t described = 0;  ///< bytes of text
  // Of run.
  std::uint32_t mode_before = 0;  ///< MXCSR without its flags, and the rounding mode
  std::uint32_t mode_after = 0;
  std::int32_t threads_before = 0;
  std::int32_t threads_after = 0;
  std::array<char, 2048> message{};
};

/// A zygote is asked for a worker, how one ended, or whether it is there.
struct ZygoteQuestion {
  /// The process whose end is asked for; 0: a new one; negative: nothing but an answer.
  std::int32_t ended = 0;
  std::array<char, 4096> library{};
};
struct ZygoteReply {
  std::int32_t process = -1;  ///< with its socket; negative: none, errno
  std::int32_t status = 0;    ///< of waitpid
};

}  // namespace mote::isolate
