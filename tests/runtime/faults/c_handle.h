// SPDX-License-Identifier: Apache-2.0
// Handles of mote/mote.h that are freed in their destructors, and statuses as exceptions.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <utility>

#include "mote/mote.h"

namespace mote::test {

/// A handle that is freed in the destructor.
template <typename T, void (*Free)(T*)>
class Handle {
 public:
  Handle() = default;
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Handle() { Free(handle_); }
  operator T*() const { return handle_; }
  void reset() { Free(std::exchange(handle_, nullptr)); }

  /// make(&handle) must set the handle, or report a lack of memory and leave it unchanged.
  template <typename Make>
  void set(const Make& make) {
    reset();
    const mote_status status = make(&handle_);
    if (status == MOTE_OUT_OF_MEMORY) {
      EXPECT_EQ(handle_, nullptr);
      throw std::bad_alloc();
    }
    EXPECT_EQ(status, MOTE_OK) << mote_last_error();
  }

 private:
  T* handle_ = nullptr;
};
using TensorHandle = Handle<mote_tensor, mote_tensor_free>;
using CommandHandle = Handle<mote_command, mote_command_free>;
using ContextHandle = Handle<mote_context, mote_context_free>;
using StreamHandle = Handle<mote_stream, mote_stream_free>;
using EventHandle = Handle<mote_event, mote_event_free>;
using PreparedHandle = Handle<mote_prepared, mote_prepared_free>;

/// Throws std::bad_alloc if the status says that there is no memory.
inline void expect(mote_status status, mote_status expected = MOTE_OK) {
  if (status == MOTE_OUT_OF_MEMORY) {
    EXPECT_NE(std::strchr(mote_last_error(), ':'), nullptr) << mote_last_error();
    throw std::bad_alloc();
  }
  EXPECT_EQ(status, expected) << mote_last_error();
}

}  // namespace mote::test
