// SPDX-License-Identifier: Apache-2.0
// A stream on a device: the device's own stream, and what has been issued there and may not be
// done.
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
  /// Throws the errors of what came before it.
  void synchronize() const;
  /// Throws the errors of what came before it.
  bool is_over() const;

 private:
  Device device_;
  void* event_ = nullptr;
};

/// What the stream's thread does, and what others ask meanwhile.
class DeviceStream {
 public:
  explicit DeviceStream(const Device& device);
  /// Waits.
  ~DeviceStream();
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  const Device& device() const { return device_; }
  void* raw() const { return stream_; }

  /// body() puts work into the stream. `what` says, for messages, what it is, and is kept until
  /// that is done, with all that it holds. Where body() fails, what it has given already is waited
  /// for.
  void issue(std::function<std::string()> what, const std::function<void()>& body);
  /// Memory for what is issued next. What is issued later may have the same.
  std::span<std::byte> workspace(std::size_t bytes);
  /// What is issued from now on comes after it.
  void wait(const DeviceEvent& event);

  /// Behind what was issued last; null where nothing is under way.
  std::shared_ptr<const DeviceEvent> latest() const;
  bool is_idle() const;
  /// Throws the error of what was issued, with what that was.
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
