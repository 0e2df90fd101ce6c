// SPDX-License-Identifier: Apache-2.0
#include "offered_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "device_call.h"

namespace mote::cuda {
namespace {

constexpr unsigned kNonBlocking = 1;   // CU_STREAM_NON_BLOCKING
constexpr unsigned kWithoutTimes = 2;  // CU_EVENT_DISABLE_TIMING
constexpr int kNotReady = 600;         // CUDA_ERROR_NOT_READY

void write(const std::string& text, char* message, std::size_t bytes) {
  if (message == nullptr || bytes == 0) return;
  const std::size_t count = std::min(text.size(), bytes - 1);
  std::memcpy(message, text.data(), count);
  message[count] = '\0';
}

/// Calls body(driver) with the context current; returns its errors as a status.
template <typename Body>
mote_status in_context(char* message, std::size_t bytes, const Body& body) {
  std::shared_ptr<Device> device;
  backend::Refusal refusal{MOTE_FAILED, ""};
  try {
    device = Device::open();
    const Held current = device->enter();
    body(device->driver());
    return MOTE_OK;
  } catch (const DriverError& e) {
    if (device != nullptr)
      refusal = failed(*device, e, "the GPU");
    else
      refusal.text = e.what();
  } catch (const std::exception& e) {
    refusal.text = e.what();
  }
  write(refusal.text, message, bytes);
  return refusal.status;
}

mote_status ready(char* message, std::size_t bytes) {
  std::string why;
  try {
    const auto lost = Device::open()->lost();
    if (!lost) return MOTE_OK;
    why = "the GPU's context was lost: " + *lost;
  } catch (const std::exception& e) {
    why = e.what();
  }
  write(why, message, bytes);
  return MOTE_UNSUPPORTED;
}

DevicePointer address(const void* memory) { return reinterpret_cast<DevicePointer>(memory); }

mote_status allocate(std::size_t bytes, void** memory, char* message, std::size_t message_bytes) {
  return in_context(message, message_bytes, [&](const Driver& driver) {
    DevicePointer made = 0;
    driver.check(driver.calls().allocate(&made, bytes), "cuMemAlloc");
    *memory = reinterpret_cast<void*>(made);  // NOLINT(performance-no-int-to-ptr)
  });
}

mote_status release(void* memory, char* message, std::size_t bytes) {
  return in_context(message, bytes, [&](const Driver& driver) {
    driver.check(driver.calls().free(address(memory)), "cuMemFree");
  });
}

mote_status copy(void* to, DLDevice to_device, const void* from, DLDevice from_device,
                 std::size_t bytes, void* stream, char* message, std::size_t message_bytes) {
  return in_context(message, message_bytes, [&](const Driver& driver) {
    const DriverCalls& c = driver.calls();
    auto* const in = static_cast<DriverStream*>(stream);
    if (from_device.device_type == kDLCPU)
      driver.check(c.copy_in(address(to), from, bytes, in), "cuMemcpyHtoDAsync");
    else if (to_device.device_type == kDLCPU)
      driver.check(c.copy_out(to, address(from), bytes, in), "cuMemcpyDtoHAsync");
    else
      driver.check(c.copy(address(to), address(from), bytes, in), "cuMemcpyDtoDAsync");
  });
}

mote_status create_stream(void** stream, char* message, std::size_t bytes) {
  return in_context(message, bytes, [&](const Driver& driver) {
    DriverStream* made = nullptr;
    driver.check(driver.calls().create_stream(&made, kNonBlocking), "cuStreamCreate");
    *stream = made;
  });
}

mote_status destroy_stream(void* stream, char* message, std::size_t bytes) {
  return in_context(message, bytes, [&](const Driver& driver) {
    driver.check(driver.calls().destroy_stream(static_cast<DriverStream*>(stream)),
                 "cuStreamDestroy");
  });
}

mote_status synchronize(void* stream, char* message, std::size_t bytes) {
  return in_context(message, bytes, [&](const Driver& driver) {
    driver.check(driver.calls().synchronize(static_cast<DriverStream*>(stream)),
                 "cuStreamSynchronize");
  });
}

mote_status create_event(void** event, char* message, std::size_t bytes) {
  return in_context(message, bytes, [&](const Driver& driver) {
    DriverEvent* made = nullptr;
    driver.check(driver.calls().create_event(&made, kWithoutTimes), "cuEventCreate");
    *event = made;
  });
}

mote_status destroy_event(void* event, char* message, std::size_t bytes) {
  return in_context(message, bytes, [&](const Driver& driver) {
    driver.check(driver.calls().destroy_event(static_cast<DriverEvent*>(event)), "cuEventDestroy");
  });
}

mote_status record(void* event, void* stream, char* message, std::size_t bytes) {
  return in_context(message, bytes, [&](const Driver& driver) {
    driver.check(
        driver.calls().record(static_cast<DriverEvent*>(event), static_cast<DriverStream*>(stream)),
        "cuEventRecord");
  });
}

mote_status wait(void* stream, void* event, char* message, std::size_t bytes) {
  return in_context(message, bytes, [&](const Driver& driver) {
    driver.check(driver.calls().wait(static_cast<DriverStream*>(stream),
                                     static_cast<DriverEvent*>(event), 0),
                 "cuStreamWaitEvent");
  });
}

mote_status synchronize_event(void* event, char* message, std::size_t bytes) {
  return in_context(message, bytes, [&](const Driver& driver) {
    driver.check(driver.calls().await(static_cast<DriverEvent*>(event)), "cuEventSynchronize");
  });
}

mote_status is_over(void* event, std::int32_t* over, char* message, std::size_t bytes) {
  return in_context(message, bytes, [&](const Driver& driver) {
    const int status = driver.calls().query(static_cast<DriverEvent*>(event));
    *over = status != kNotReady;
    if (*over != 0) driver.check(status, "cuEventQuery");
  });
}

}  // namespace

mote_status offer_device(const mote_device** devices, std::int32_t* count) {
  static const mote_device first = {.size = sizeof(mote_device),
                                    .name = "cuda",
                                    .device = {kDLCUDA, 0},
                                    .ready = ready,
                                    .allocate = allocate,
                                    .release = release,
                                    .copy = copy,
                                    .create_stream = create_stream,
                                    .destroy_stream = destroy_stream,
                                    .synchronize = synchronize,
                                    .create_event = create_event,
                                    .destroy_event = destroy_event,
                                    .record = record,
                                    .wait = wait,
                                    .synchronize_event = synchronize_event,
                                    .is_over = is_over};
  *devices = &first;
  *count = 1;
  return MOTE_OK;
}

}  // namespace mote::cuda
