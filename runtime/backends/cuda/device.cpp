// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <utility>

namespace mote::cuda {
namespace {

// CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
constexpr int kMajor = 75;
constexpr int kMinor = 76;

}  // namespace

Device::Device(std::shared_ptr<const Driver> driver) : driver_(std::move(driver)) {
  const DriverCalls& c = driver_->calls();
  driver_->check(c.init(0), "cuInit");
  int count = 0;
  driver_->check(c.device_count(&count), "cuDeviceGetCount");
  if (count == 0) throw Error("a driver, but no GPU");
  int device = 0, major = 0, minor = 0;
  driver_->check(c.device(&device, 0), "cuDeviceGet");
  driver_->check(c.attribute(&major, kMajor, device), "cuDeviceGetAttribute");
  driver_->check(c.attribute(&minor, kMinor, device), "cuDeviceGetAttribute");
  architecture_ = 10 * major + minor;
  driver_->check(c.retain(&context_, device), "cuDevicePrimaryCtxRetain");
}

std::shared_ptr<Device> Device::open() {
  static std::mutex mutex;
  static std::shared_ptr<Device> known;
  const std::lock_guard lock(mutex);
  if (known != nullptr) return known;
  std::string why;
  auto driver = Driver::find(why);
  if (driver == nullptr) throw Error(why);
  known = std::shared_ptr<Device>(new Device(std::move(driver)));
  return known;
}

Held Device::enter() const {
  const DriverCalls& c = driver_->calls();
  driver_->check(c.push(context_), "cuCtxPushCurrent");
  return {*driver_, "cuCtxPopCurrent", [&c] {
            DriverContext* popped = nullptr;
            return c.pop(&popped);
          }};
}

std::optional<std::string> Device::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

void Device::lose(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!lost_) lost_ = why;
}

}  // namespace mote::cuda
