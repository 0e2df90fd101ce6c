// SPDX-License-Identifier: Apache-2.0
// CUDA's driver, loaded at run time if it is installed: the calls that mote uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "mote/base/error.h"

namespace mote::cuda {

// These types are as in cuda.h: opaque types, and an address of the GPU's memory.
struct DriverContext;
struct DriverStream;
struct DriverModule;
struct DriverFunction;
struct DriverEvent;
using DevicePointer = std::uint64_t;

/// A call of the driver that failed: "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY, out of memory".
class DriverError : public Error {
 public:
  DriverError(int code, const std::string& text) : Error(text), code_(code) {}
  int code() const { return code_; }
  bool is_out_of_memory() const { return code_ == 2; }
  /// True if no later call in this process can use the GPU.
  bool loses_context() const;

 private:
  int code_;
};

/// The driver's functions. Statuses are an enum whose 0 is success. Some names end in _v2 in the
/// library.
struct DriverCalls {
  int (*init)(unsigned) = nullptr;
  int (*version)(int*) = nullptr;  ///< CUDA's version: 12080 for 12.8
  int (*device_count)(int*) = nullptr;
  int (*device)(int*, int) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
  int (*retain)(DriverContext**, int) = nullptr;
  int (*push)(DriverContext*) = nullptr;
  int (*pop)(DriverContext**) = nullptr;
  int (*allocate)(DevicePointer*, std::size_t) = nullptr;
  int (*free)(DevicePointer) = nullptr;
  int (*copy_in)(DevicePointer, const void*, std::size_t, DriverStream*) = nullptr;
  int (*copy_out)(void*, DevicePointer, std::size_t, DriverStream*) = nullptr;
  int (*copy)(DevicePointer, DevicePointer, std::size_t, DriverStream*) = nullptr;  ///< to, from
  int (*create_stream)(DriverStream**, unsigned) = nullptr;
  int (*destroy_stream)(DriverStream*) = nullptr;
  int (*synchronize)(DriverStream*) = nullptr;
  int (*create_event)(DriverEvent**, unsigned) = nullptr;
  int (*destroy_event)(DriverEvent*) = nullptr;
  int (*record)(DriverEvent*, DriverStream*) = nullptr;
  int (*await)(DriverEvent*) = nullptr;
  int (*query)(DriverEvent*) = nullptr;
  int (*wait)(DriverStream*, DriverEvent*, unsigned) = nullptr;
  int (*elapsed)(float*, DriverEvent*,
                 DriverEvent*) = nullptr;  ///< the milliseconds between two events
  int (*load)(DriverModule**, const void*) = nullptr;
  int (*function)(DriverFunction**, DriverModule*, const char*) = nullptr;
  int (*set_attribute)(DriverFunction*, int, int) = nullptr;
  int (*launch)(DriverFunction*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                unsigned, DriverStream*, void**, void**) = nullptr;
  int (*error_name)(int, const char**) = nullptr;
  int (*error_text)(int, const char**) = nullptr;
};

class Driver {
 public:
  /// Loads $MOTE_CUDA_DRIVER, else libcuda.so.1. Returns nullptr, with the reason in `why`, if that
  /// fails.
  static std::shared_ptr<const Driver> find(std::string& why);

  const DriverCalls& calls() const { return calls_; }
  /// Throws DriverError unless the status is 0; `call` is the call that returned it.
  void check(int status, const char* call) const;

 private:
  Driver() = default;
  bool get_all();

  std::shared_ptr<void> library_;
  DriverCalls calls_;
};

/// A resource of the driver that is freed once: by release(), which reports errors, or by the
/// destructor.
class Held {
 public:
  Held(const Driver& driver, const char* call, std::function<int()> give_back)
      : driver_(driver), call_(call), give_back_(std::move(give_back)) {}
  ~Held() {
    if (give_back_) give_back_();
  }
  Held(Held&& other) noexcept
      : driver_(other.driver_),
        call_(other.call_),
        give_back_(std::exchange(other.give_back_, nullptr)) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  Held& operator=(Held&&) = delete;
  /// Throws DriverError.
  void release() {
    if (give_back_) driver_.check(std::exchange(give_back_, nullptr)(), call_);
  }

 private:
  const Driver& driver_;
  const char* call_;
  std::function<int()> give_back_;
};

}  // namespace mote::cuda
