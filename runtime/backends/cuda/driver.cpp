// SPDX-License-Identifier: Apache-2.0
#include "driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "mote/base/cuda_libraries.h"

namespace mote::cuda {
namespace {

template <typename F>
bool get(void* library, F& function, const char* name) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

/// True for uncorrectable memory errors, the end of the driver, and traps of a kernel: CUDA returns
/// each of them for every later call.
bool DriverError::loses_context() const {
  constexpr std::array<int, 15> kSticky = {4,   214, 220, 226, 700, 702, 709, 710,
                                           714, 715, 716, 717, 718, 719, 721};
  return std::ranges::find(kSticky, code_) != kSticky.end();
}

bool Driver::get_all() {
  void* const from = library_.get();
  DriverCalls& c = calls_;
  return get(from, c.init, "cuInit") && get(from, c.version, "cuDriverGetVersion") &&
         get(from, c.device_count, "cuDeviceGetCount") && get(from, c.device, "cuDeviceGet") &&
         get(from, c.attribute, "cuDeviceGetAttribute") &&
         get(from, c.retain, "cuDevicePrimaryCtxRetain") &&
         get(from, c.push, "cuCtxPushCurrent_v2") && get(from, c.pop, "cuCtxPopCurrent_v2") &&
         get(from, c.allocate, "cuMemAlloc_v2") && get(from, c.free, "cuMemFree_v2") &&
         get(from, c.copy_in, "cuMemcpyHtoDAsync_v2") &&
         get(from, c.copy_out, "cuMemcpyDtoHAsync_v2") &&
         get(from, c.copy, "cuMemcpyDtoDAsync_v2") &&
         get(from, c.create_stream, "cuStreamCreate") &&
         get(from, c.destroy_stream, "cuStreamDestroy_v2") &&
         get(from, c.synchronize, "cuStreamSynchronize") &&
         get(from, c.create_event, "cuEventCreate") &&
         get(from, c.destroy_event, "cuEventDestroy_v2") && get(from, c.record, "cuEventRecord") &&
         get(from, c.await, "cuEventSynchronize") && get(from, c.query, "cuEventQuery") &&
         get(from, c.wait, "cuStreamWaitEvent") &&
         // Drivers before 12.8 have only the second name; both functions do the same.
         (get(from, c.elapsed, "cuEventElapsedTime_v2") ||
          get(from, c.elapsed, "cuEventElapsedTime")) &&
         get(from, c.load, "cuModuleLoadData") && get(from, c.function, "cuModuleGetFunction") &&
         get(from, c.set_attribute, "cuFuncSetAttribute") &&
         get(from, c.launch, "cuLaunchKernel") && get(from, c.error_name, "cuGetErrorName") &&
         get(from, c.error_text, "cuGetErrorString");
}

std::shared_ptr<const Driver> Driver::find(std::string& why) {
  const std::string path = cuda_driver();
  // The driver has threads of its own, so it is never unloaded.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    why = fmt::format("no driver: {}", dlerror());
    return nullptr;
  }
  const std::shared_ptr<Driver> found(new Driver());
  found->library_.reset(handle, [](void* library) { dlclose(library); });
  if (found->get_all()) return found;
  why = path + ": not a driver that mote knows";
  return nullptr;
}

void Driver::check(int status, const char* call) const {
  if (status == 0) return;
  const char* name = nullptr;
  const char* text = nullptr;
  if (calls_.error_name(status, &name) != 0 || name == nullptr) name = "an unknown error";
  if (calls_.error_text(status, &text) != 0 || text == nullptr) text = "no text";
  throw DriverError(status, fmt::format("{}: {} ({}), {}", call, name, status, text));
}

}  // namespace mote::cuda
