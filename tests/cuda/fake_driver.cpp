// SPDX-License-Identifier: Apache-2.0
// A driver without a GPU. The code that the fake NVRTC makes for it is a program's text: a module
// compiles that for the host, and a launch runs it on the shim. The memory of the GPU is the
// host's, but every address is checked. Calls fail on demand: fake_driver.h, or
// $FAKE_CUDA_FAIL=CALL:STATUS for a process that has no other way. What gives back does so even
// where it fails. As CUDA's, the driver is of no use in a child of the process that called cuInit.
// $FAKE_CUDA_GPUS: how many there are. $FAKE_CUDA_VERSION: the driver's, 13010 for 13.1.
// $FAKE_CUDA_ARCHITECTURE: the GPU's, 90 for sm_90.
#include "fake_driver.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cuda/driver.h"
#include "cuda_host/host_library.h"
#include "cuda_host/shim/launch.h"
#include "fake_device.h"

namespace {

using mote::cuda::DevicePointer;

constexpr int kInvalidValue = 1;
constexpr int kNotInitialized = 3;
constexpr int kNoContext = 201;
constexpr int kNotFound = 500;
constexpr int kIllegalAddress = 700;  // the one here that ends a context
constexpr int kLaunchFailed = 719;

struct Module {
  mote::cuda_host::HostLibrary library;
};
struct Event {
  std::chrono::steady_clock::time_point at;
};
struct Function {
  const Module* module;
  void (*call)(void**);
};
/// The unit of memory, which is aligned as the driver aligns allocations.
struct alignas(256) Block {
  std::array<char, 256> bytes;
};
struct Memory {
  std::vector<Block> blocks;
  std::size_t bytes = 0;
};

struct State {
  std::mutex mutex;
  int calls = 0;
  int failing = -1;
  int status = 0;
  bool ended = false;
  std::atomic<bool> failed_to_enter = false;
  pid_t process = 0;  ///< that called cuInit
  std::map<DevicePointer, Memory> memory;
  std::set<const void*> streams;
  std::vector<std::unique_ptr<char>> all_streams;  ///< so that no address is given twice
  std::atomic<int> pushed = 0;                     ///< contexts, by all threads
  int descriptors = 0;                             ///< of the libraries, and events
  std::vector<std::unique_ptr<Module>> modules;
  std::vector<std::unique_ptr<Function>> functions;
};

State& state() {
  static State only;
  static const bool read = [] {
    const char* given = std::getenv("FAKE_CUDA_FAIL");
    if (given == nullptr) return false;
    const std::string text = given;
    only.failing = std::atoi(text.c_str());
    only.status = std::atoi(text.substr(text.find(':') + 1).c_str());
    return true;
  }();
  (void)read;
  return only;
}

}  // namespace

namespace fake {

/// Each thread has contexts of its own.
thread_local int pushed_here = 0;

int counted() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const bool fails = s.calls++ == s.failing;
  if (fails) s.ended = s.status == kIllegalAddress;
  return fails || s.ended ? s.status : 0;
}

int counted_in_process() {
  const int status = counted();
  return status != 0 ? status : state().process == getpid() ? 0 : kNotInitialized;
}

int counted_in_context() {
  const int status = counted_in_process();
  return status != 0 ? status : pushed_here > 0 ? 0 : kNoContext;
}

bool is_allocated(DevicePointer at, std::size_t bytes) {
  const std::lock_guard lock(state().mutex);
  const auto& all = state().memory;
  auto next = all.upper_bound(at);
  if (next == all.begin()) return false;
  const auto& [begin, memory] = *--next;
  return at + bytes <= begin + memory.bytes;
}

bool is_stream(const void* stream) {
  const std::lock_guard lock(state().mutex);
  return stream == nullptr || state().streams.contains(stream);
}

bool is_workspace(const void* at, std::size_t bytes) {
  const auto begin = reinterpret_cast<DevicePointer>(at);
  return begin % alignof(Block) == 0 && is_allocated(begin, bytes);
}

void count_descriptor(int more) {
  const std::lock_guard lock(state().mutex);
  state().descriptors += more;
}

}  // namespace fake

namespace {

using fake::counted;
using fake::counted_in_context;
using fake::counted_in_process;
using fake::is_allocated;
using fake::pushed_here;

int number_in(const char* variable, int otherwise) {
  const char* const given = std::getenv(variable);
  return given == nullptr ? otherwise : std::atoi(given);
}

int architecture() { return number_in("FAKE_CUDA_ARCHITECTURE", 90); }

/// The status for code that is for other GPUs: machine code for another generation or a later GPU,
/// PTX for a later one.
int refused(const std::string& code) {
  constexpr int kNoBinaryForGpu = 209, kInvalidPtx = 218;
  const bool is_ptx = code.starts_with("// compute_");
  const int target = std::atoi(code.substr(code.find('_') + 1).c_str());
  if (target > architecture()) return is_ptx ? kInvalidPtx : kNoBinaryForGpu;
  return is_ptx || target / 10 == architecture() / 10 ? 0 : kNoBinaryForGpu;
}

/// "__global__ void __launch_bounds__(128, 1)\nmote_neg_f32(": the names.
std::vector<std::string> kernels_in(const std::string& text) {
  const std::string mark = "__launch_bounds__(";
  std::vector<std::string> names;
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
    const std::size_t bounds = text.find(')', at);
    const std::size_t begin = text.find_first_not_of(" \n", bounds + 1);
    at = text.find('(', begin);
    names.push_back(text.substr(begin, at - begin));
  }
  return names;
}

}  // namespace

FAKE_EXPORT void fake_cuda_fail(int call, int status) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.calls = 0;
  s.failing = call;
  s.status = status;
  s.ended = false;
}
FAKE_EXPORT int fake_cuda_calls() { return state().calls; }
FAKE_EXPORT int fake_cuda_failed_to_enter() { return state().failed_to_enter ? 1 : 0; }
FAKE_EXPORT int fake_cuda_live() {
  return static_cast<int>(state().memory.size()) + static_cast<int>(state().streams.size()) +
         state().pushed + state().descriptors;
}

FAKE_EXPORT int cuInit(unsigned) {
  if (state().process == 0) state().process = getpid();
  return counted_in_process();
}
FAKE_EXPORT int cuDriverGetVersion(int* version) {
  *version = number_in("FAKE_CUDA_VERSION", 99000);
  return counted();
}
FAKE_EXPORT int cuDeviceGetCount(int* count) {
  *count = number_in("FAKE_CUDA_GPUS", 1);
  return counted_in_process();
}
FAKE_EXPORT int cuDeviceGet(int* device, int) {
  *device = 0;
  return counted_in_process();
}
FAKE_EXPORT int cuDeviceGetName(char* name, int bytes, int) {
  std::strncpy(name, "a fake GPU", static_cast<std::size_t>(bytes));
  return counted_in_process();
}
FAKE_EXPORT int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 75 ? architecture() / 10 : attribute == 76 ? architecture() % 10 : 0;
  return counted_in_process();
}
FAKE_EXPORT int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &state();
  return counted_in_process();
}
FAKE_EXPORT int cuCtxPushCurrent_v2(void* context) {
  if (const int status = counted_in_process()) {
    state().failed_to_enter = true;
    return status;
  }
  if (context != &state()) return kInvalidValue;
  ++state().pushed;
  ++pushed_here;
  return 0;
}
FAKE_EXPORT int cuCtxPopCurrent_v2(void** context) {
  *context = &state();
  --state().pushed;
  --pushed_here;
  return counted_in_process();
}

FAKE_EXPORT int cuMemAlloc_v2(DevicePointer* at, std::size_t bytes) {
  if (const int status = counted_in_context()) return status;
  if (bytes == 0) return kInvalidValue;
  Block block;
  block.bytes.fill('\xff');
  Memory memory{std::vector<Block>((bytes + sizeof(Block) - 1) / sizeof(Block), block), bytes};
  *at = reinterpret_cast<DevicePointer>(memory.blocks.data());
  const std::lock_guard lock(state().mutex);
  state().memory.emplace(*at, std::move(memory));
  return 0;
}
FAKE_EXPORT int cuMemFree_v2(DevicePointer at) {
  const int status = counted_in_context();
  const std::lock_guard lock(state().mutex);
  const bool known = state().memory.erase(at) == 1;
  return status != 0 || known ? status : kInvalidValue;
}
FAKE_EXPORT int cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, std::size_t bytes, void*) {
  if (const int status = counted_in_context()) return status;
  if (!is_allocated(to, bytes)) return kInvalidValue;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}
FAKE_EXPORT int cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, std::size_t bytes, void*) {
  if (const int status = counted_in_context()) return status;
  if (!is_allocated(from, bytes)) return kInvalidValue;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return 0;
}

FAKE_EXPORT int cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, std::size_t bytes,
                                     void*) {
  if (const int status = counted_in_context()) return status;
  if (!is_allocated(to, bytes) || !is_allocated(from, bytes)) return kInvalidValue;
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return 0;
}

FAKE_EXPORT int cuStreamCreate(void** stream, unsigned) {
  if (const int status = counted_in_context()) return status;
  const std::lock_guard lock(state().mutex);
  *stream = state().all_streams.emplace_back(std::make_unique<char>()).get();
  state().streams.insert(*stream);
  return 0;
}
FAKE_EXPORT int cuStreamDestroy_v2(void* stream) {
  {
    const std::lock_guard lock(state().mutex);
    if (state().streams.erase(stream) != 1) std::abort();
  }
  return counted_in_context();
}
/// Undefined for a stream that is gone.
FAKE_EXPORT int cuStreamSynchronize(void* stream) {
  if (!fake::is_stream(stream)) std::abort();
  return counted_in_context();
}

/// Work is complete when its call returns: an event is the time at which it was recorded.
FAKE_EXPORT int cuEventCreate(Event** event, unsigned) {
  if (const int status = counted_in_context()) return status;
  fake::make(event);
  return 0;
}
FAKE_EXPORT int cuEventDestroy_v2(Event* event) {
  fake::unmake(event);
  return counted_in_context();
}
FAKE_EXPORT int cuEventRecord(Event* event, void* stream) {
  if (!fake::is_stream(stream)) std::abort();
  event->at = std::chrono::steady_clock::now();
  return counted_in_context();
}
FAKE_EXPORT int cuEventSynchronize(Event*) { return counted_in_context(); }
FAKE_EXPORT int cuEventQuery(Event*) { return counted_in_context(); }
FAKE_EXPORT int cuStreamWaitEvent(void* stream, Event*, unsigned) {
  if (!fake::is_stream(stream)) std::abort();
  return counted_in_context();
}
FAKE_EXPORT int cuEventElapsedTime_v2(float* milliseconds, Event* from, Event* to) {
  *milliseconds = std::chrono::duration<float, std::milli>(to->at - from->at).count();
  return counted_in_context();
}

FAKE_EXPORT int cuModuleLoadData(void** module, const void* image) {
  if (const int status = counted_in_context()) return status;
  const std::string text = static_cast<const char*>(image);
  if (const int status = refused(text)) return status;
  auto made = std::make_unique<Module>();
  made->library = mote::cuda_host::compile_for_host(
      "fake driver\n" + text, [&] { return mote::cuda_host::host_source(kernels_in(text), text); });
  *module = made.get();
  state().modules.push_back(std::move(made));
  return 0;
}
FAKE_EXPORT int cuModuleGetFunction(void** function, void* module, const char* name) {
  if (const int status = counted_in_context()) return status;
  const auto* of = static_cast<const Module*>(module);
  const auto found = of->library.kernels.find(name);
  if (found == of->library.kernels.end()) return kNotFound;
  state().functions.push_back(std::make_unique<Function>(Function{of, found->second}));
  *function = state().functions.back().get();
  return 0;
}
FAKE_EXPORT int cuFuncSetAttribute(void*, int attribute, int value) {
  if (const int status = counted_in_context()) return status;
  return attribute == 9 && value >= -1 && value <= 100 ? 0 : kInvalidValue;
}
FAKE_EXPORT int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                               unsigned by, unsigned bz, unsigned shared, void*, void** arguments,
                               void**) {
  if (const int status = counted_in_context()) return status;
  const auto& of = *static_cast<const Function*>(function);
  mote::shim::Shape shape;
  shape.grid = {gx, gy, gz};
  shape.block = {bx, by, bz};
  shape.dynamic_bytes = shared;
  shape.shared_begin = of.module->library.shared_begin;
  shape.shared_end = of.module->library.shared_end;
  const std::string error = mote::shim::launch(shape, {}, [&] { of.call(arguments); });
  return error.empty() ? 0 : kLaunchFailed;
}

FAKE_EXPORT int cuGetErrorName(int status, const char** name) {
  *name = status == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : status == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                          : nullptr;
  return *name != nullptr ? 0 : kInvalidValue;
}
FAKE_EXPORT int cuGetErrorString(int status, const char** text) {
  *text = status == 2     ? "out of memory"
          : status == 700 ? "an illegal memory access was encountered"
                          : nullptr;
  return *text != nullptr ? 0 : kInvalidValue;
}
