// SPDX-License-Identifier: Apache-2.0
// A backend with one kernel whose behaviour a test sets. Each Id is a separate backend with static
// state, since the C ABI passes no context to a kernel.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>
#include <functional>

#include "mote/base/kernel.h"
#include "runtime/plain_records.h"

namespace mote::test {

inline void say(const mote_call* call, const char* text) {
  if (call->message == nullptr || call->message_bytes == 0) return;
  std::strncpy(call->message, text, call->message_bytes - 1);
}

template <int Id>
struct FakeBackend {
  static inline std::function<mote_status(const mote_call*)> on_can_run;
  static inline std::function<mote_status(const mote_call*)> on_run;
  static inline std::atomic<std::size_t> wants = 0;
  static inline std::atomic<int> asked = 0;
  static inline std::atomic<int> runs = 0;

  /// Accepts everything and does nothing.
  explicit FakeBackend(const char* op, const char* name = "fake")
      : kernel{sizeof(mote_kernel), op, &kPlainContract, can_run, workspace_bytes, run, nullptr},
        backend{.size = sizeof(mote_backend),
                .name = name,
                .version = "1",
                .kernel_count = 1,
                .reserved = 0,
                .kernels = &kernel} {
    on_can_run = on_run = nullptr;
    wants = 0;
    asked = runs = 0;
  }
  FakeBackend(const FakeBackend&) = delete;
  FakeBackend& operator=(const FakeBackend&) = delete;

  mote_kernel kernel;
  mote_backend backend;
  const mote_backend* list[1] = {&backend};

 private:
  static mote_status can_run(const mote_call* call) {
    ++asked;
    return on_can_run ? on_can_run(call) : MOTE_OK;
  }
  static std::size_t workspace_bytes(const mote_call*) { return wants; }
  static mote_status run(const mote_call* call, void*) {
    ++runs;
    return on_run ? on_run(call) : MOTE_OK;
  }
};

}  // namespace mote::test
