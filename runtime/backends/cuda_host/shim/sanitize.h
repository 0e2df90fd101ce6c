// SPDX-License-Identifier: Apache-2.0
// Tells the thread sanitizer that the threads of a kernel are threads, though one OS thread runs
// them all, and that only barriers order their accesses. Without that sanitizer it does nothing.
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

/// The address at which the launch waits for the work of all fibres.
inline char fibres_left = 0;

#if defined(__SANITIZE_THREAD__)
/// Orders the caller's work so far before the work of threads that wait for `location`.
inline void has_come(void* location) { __tsan_release(location); }
inline void has_waited(void* location) { __tsan_acquire(location); }

/// Hides the shim's own data, which all threads read and write, from the sanitizer. It must not
/// span a switch: a fibre must not end within it.
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
inline void has_come(void* /*location*/) {}
inline void has_waited(void* /*location*/) {}

struct Unseen {
  Unseen() {}   // NOLINT(modernize-use-equals-default): its variables count as used
  ~Unseen() {}  // NOLINT(modernize-use-equals-default)
};
#endif

}  // namespace mote::shim
