// SPDX-License-Identifier: Apache-2.0
// Calls of a device's functions: an error becomes a StatusError "cuda: why".
#pragma once

#include <array>
#include <exception>
#include <string>

#include "mote/base/device.h"
#include "mote/runtime/status.h"

namespace mote {

/// Throws StatusError "NAME: message".
[[noreturn]] void fail_on(const mote_device& device, mote_status status, const char* message);

/// Calls function(arguments…, message, message_bytes). An exception from it is an error too.
template <typename Function, typename... Arguments>
void device_call(const mote_device& device, Function function, Arguments... arguments) {
  std::array<char, 512> message{};
  mote_status status = MOTE_FAILED;
  try {
    status = function(arguments..., message.data(), message.size());
  } catch (const std::exception& e) {
    fail_on(device, MOTE_FAILED, (std::string("it threw an exception: ") + e.what()).c_str());
  } catch (...) {
    fail_on(device, MOTE_FAILED, "it threw an exception of an unknown type");
  }
  message.back() = '\0';
  if (status != MOTE_OK) fail_on(device, status, message.data());
}

/// Calls the function and ignores errors.
template <typename Function, typename... Arguments>
void device_call_quietly(Function function, Arguments... arguments) noexcept {
  try {
    function(arguments..., nullptr, 0);
  } catch (...) {  // NOLINT(bugprone-empty-catch)
  }
}

}  // namespace mote
