// SPDX-License-Identifier: Apache-2.0
// A stream on a device: the device's own stream, and the issued work that may not be done.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "mote/runtime/device.h"
#include "mote/runtime/status.h"
#include "mote/runtime/tensor.h"

namespace mote {

/// One record in a device's stream.
class DeviceEvent {
 public:
  DeviceEvent(const Device& device, void* stream);
  ~DeviceEvent();
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;

  const Device& device() const { return device_; }
  void* raw() const { return event_; }
  /// Waits. Throws the errors of earlier work.
  void synchronize() const;
  /// Throws the errors of earlier work.
  bool is_over() const;

 private:
  Device device_;
  void* event_ = nullptr;
};

/// A device's stream as the thread of a mote stream uses it; other threads may query it.
class DeviceStream {
 public:
  explicit DeviceStream(const Device& device);
  /// Waits for the work.
  ~DeviceStream();
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  const Device& device() const { return device_; }
  void* raw() const { return stream_; }

  /// Calls body(), which puts work into the stream. `what` describes the work in messages, and is
  /// kept, with everything that it holds, until the work is done. If body() fails, this waits for
  /// the work that it has issued already.
  void issue(std::function<std::string()> what, const std::function<void()>& body);
  /// Returns memory for the work that is issued next. Later work may use the same memory.
  std::span<std::byte> workspace(std::size_t bytes);
  /// Makes work that is issued later wait for the event. The wait is issued work itself: the stream
  /// is not idle before the event.
  void wait(const DeviceEvent& event);

  /// Returns the event after the work that was issued last; null if nothing is under way.
  std::shared_ptr<const DeviceEvent> latest() const;
  bool is_idle() const;
  /// Returns the number of issued works that may not be done.
  std::size_t issued_count() const;
  /// Throws the error of the issued work, with its descriptions.
  void synchronize();

 private:
  struct Issued {
    std::shared_ptr<const DeviceEvent> event;
    std::function<std::string()> what;
  };

  void forget_what_is_over();
  [[noreturn]] void fail(const StatusError& error);
  std::string under_way() const;

  Device device_;
  void* stream_ = nullptr;
  mutable std::mutex mutex_;
  std::deque<Issued> issued_;
  std::optional<Tensor> workspace_;
};

}  // namespace mote
