// SPDX-License-Identifier: Apache-2.0
// What the thread sanitizer is told: the threads of a kernel are threads, though one OS thread runs
// them all, and only barriers order what they do. Without it nothing.
#pragma once

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace mote::shim {

/// Where one waits for all that fibres did.
inline char fibres_left = 0;

#if defined(__SANITIZE_THREAD__)
/// What the caller did so far comes before what those do who wait for `place`.
inline void has_come(void* place) { __tsan_release(place); }
inline void has_waited(void* place) { __tsan_acquire(place); }

/// The shim's own notes, in which all threads read and write, are no concern of the kernel's. Not
/// across a switch: a fibre must not end within it.
class Unseen {
 public:
  Unseen() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~Unseen() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;
};
#else
inline void has_come(void* /*place*/) {}
inline void has_waited(void* /*place*/) {}

struct Unseen {
  Unseen() {}   // NOLINT(modernize-use-equals-default): a variable of it is used
  ~Unseen() {}  // NOLINT(modernize-use-equals-default)
};
#endif

}  // namespace mote::shim
