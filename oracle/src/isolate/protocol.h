// SPDX-License-Identifier: Apache-2.0
// The messages between this process and a worker: they have fixed size, and each question gets one
// answer. Data lies in the arena.
#pragma once

#include <array>
#include <cstdint>

#include "mote/base/kernel.h"

namespace mote::isolate {

enum class Ask : std::uint32_t {
  load,      ///< load the library; nothing if the subject is in the forked image
  describe,  ///< describe the library's backends, as text in the control memory
  choose,    ///< choose the kernel of a backend that takes the call, and return its workspace
  run        ///< run that kernel
};

/// Pages that the call may use.
struct Segment {
  char* begin;
  std::size_t bytes;
  bool written;
};

struct Question {
  Ask ask = Ask::load;
  std::int32_t backend_index = 0;         ///< its index in the library
  const mote_backend* backend = nullptr;  ///< if there is no library
  std::int32_t kernel_index = 0;
  std::int32_t segment_count = 0;
  const Segment* segments = nullptr;  ///< in the control memory, as all that the call points to
  mote_call* call = nullptr;
  bool is_checked = false;  ///< run by run_checked, if the kernel has it and accepts the call
  double linger_s = 0;      ///< the time that new threads get to end
};

enum class Phase : std::uint32_t { asked, running, returned };

struct Reply {
  bool fault = false;  ///< a signal that ends the process
  Phase phase = Phase::asked;
  // These fields describe a fault.
  std::int32_t signal = 0;
  std::int32_t code = 0;  ///< si_code: positive if the operating system raised it
  bool wrote = false;     ///< the access was a write
  void* address = nullptr;
  // These fields answer load, describe, choose and run.
  mote_status status = MOTE_OK;
  std::int32_t kernel_index = -1;
  std::size_t workspace = 0;
  std::size_t described = 0;  ///< bytes of text
  // These fields answer run.
  std::uint32_t mode_before = 0;  ///< MXCSR without its flags, and the rounding mode
  std::uint32_t mode_after = 0;
  std::int32_t threads_before = 0;
  std::int32_t threads_after = 0;
  std::array<char, 2048> message{};
};

/// Asks a zygote for a worker, how one ended, or for an answer.
struct ZygoteQuestion {
  /// A process to wait for; 0: fork a new one; negative: only answer.
  std::int32_t ended = 0;
  std::array<char, 4096> library{};
};
struct ZygoteReply {
  std::int32_t process = -1;  ///< the worker, with its socket; negative: failed, -errno
  std::int32_t status = 0;    ///< the status that waitpid() returns
};

}  // namespace mote::isolate
