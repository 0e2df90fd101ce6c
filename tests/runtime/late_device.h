// SPDX-License-Identifier: Apache-2.0
// Loads the device of plugins/late_device.cpp once, with its controls.
#pragma once

#include <dlfcn.h>

#include <chrono>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "mote/runtime/device.h"
#include "mote/runtime/plugins.h"

namespace mote::test {

class LateDevice {
 public:
  static const LateDevice& get() {
    static const LateDevice only;
    return only;
  }
  std::span<const mote_backend* const> backends() const { return backends_; }
  /// The streams that begin no task: none of them, all, or only the oldest.
  enum class Hold { none, all, oldest };
  void hold(Hold held) const { knob<void(int)>("late_hold")(static_cast<int>(held)); }
  /// Makes each task wait for a random time before it begins; 0: none waits.
  void delay(unsigned seed) const { knob<void(unsigned)>("late_delay")(seed); }
  /// Makes the copy or kernel with that number, counted from now, fail.
  void fail(int task) const { knob<void(int)>("late_fail")(task); }
  void switch_off(bool off) const { knob<void(int)>("late_switch_off")(off ? 1 : 0); }
  /// Makes that number of calls of allocate throw an exception.
  void throw_in_allocate(int calls) const { knob<void(int)>("late_throw")(calls); }
  /// Returns the number of blocks of memory, streams and events that were not released.
  int live() const { return knob<int()>("late_live")(); }

 private:
  LateDevice() {
    const std::string path = MOTE_TEST_PLUGINS "/late_device.so";
    backends_ = load_backends(path);
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  }
  template <typename F>
  F* knob(const char* name) const {
    void* symbol = library_ != nullptr ? dlsym(library_, name) : nullptr;
    if (symbol == nullptr) throw std::runtime_error(std::string("no knob ") + name);
    return reinterpret_cast<F*>(symbol);
  }

  std::vector<const mote_backend*> backends_;
  void* library_ = nullptr;
};

/// Returns the number of live things of the device once it is the expected one: the device gives
/// back what its last work used when that is done.
inline int live_in_the_end(int expected) {
  for (int k = 0; k < 1000 && LateDevice::get().live() != expected; ++k)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return LateDevice::get().live();
}

/// Holds the device during its lifetime; then queued work continues.
class Held {
 public:
  explicit Held(LateDevice::Hold which = LateDevice::Hold::all) { LateDevice::get().hold(which); }
  ~Held() { open(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  void open() { LateDevice::get().hold(LateDevice::Hold::none); }
};

/// Makes the device's tasks wait for random times during its lifetime.
class Delayed {
 public:
  explicit Delayed(unsigned seed) { LateDevice::get().delay(seed); }
  ~Delayed() { LateDevice::get().delay(0); }
  Delayed(const Delayed&) = delete;
  Delayed& operator=(const Delayed&) = delete;
};

}  // namespace mote::test
