// SPDX-License-Identifier: Apache-2.0
// A device whose work is done later, on a thread for each of its streams, and a backend for it. Its
// memory is the host's, under DLPack's kDLExtDev; it tracks memory, streams and events, so that
// their use after release is an error. The functions at the end control it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mote/base/device.h"

namespace {

constexpr DLDevice kDevice{kDLExtDev, 3};
constexpr unsigned kMostDelay = 200;  // microseconds

/// Runs a task; returns "" or an error.
using Work = std::function<std::string()>;
struct Task {
  Work work;
  bool may_fail;  ///< false for recording an event, which never fails
};

std::mutex mutex;
std::condition_variable changed;
std::map<char*, std::size_t> memory;
std::set<const void*> streams, events;
std::set<int> numbers;  // the numbers of the streams, in the order of creation
enum class Hold { none, all, oldest } hold = Hold::none;
bool is_absent = false;
bool has_delays = false;
std::minstd_rand delays;  // how long tasks wait before they begin
int failing = -1;         // the number of the failing task, counted from now
int throwing = 0;         // the number of calls of allocate that throw

mote_status say(const std::string& text, char* message, std::size_t bytes,
                mote_status status = MOTE_FAILED) {
  if (message != nullptr && bytes > 0) std::snprintf(message, bytes, "%s", text.c_str());
  return status;
}

bool is_memory(const void* at, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  const auto* from = static_cast<const char*>(at);
  return std::ranges::any_of(memory, [&](const auto& block) {
    return from >= block.first && from + bytes <= block.first + block.second;
  });
}

struct Event {
  bool is_over = false;
  std::string error;
};

class Stream {
 public:
  explicit Stream(bool is_own = false) : is_own_(is_own) {
    static int made = 0;
    if (!is_own) {
      const std::lock_guard lock(mutex);
      numbers.insert(number_ = ++made);
    }
    thread_ = std::thread([this] { loop(); });
  }
  ~Stream() {
    {
      const std::lock_guard lock(mutex);
      closing_ = true;
      numbers.erase(number_);
    }
    changed.notify_all();
    thread_.join();
  }
  void give(Work work, bool may_fail = true) {
    const std::lock_guard lock(mutex);
    tasks_.push_back({std::move(work), may_fail});
    changed.notify_all();
  }
  /// Returns the first error since the last call.
  std::string synchronize() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return tasks_.empty(); });
    return std::exchange(error_, "");
  }
  std::string error() const { return error_; }

 private:
  bool is_held() const {
    return hold == Hold::all || (hold == Hold::oldest && !is_own_ && number_ == *numbers.begin());
  }
  void loop() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return closing_ || (!is_held() && !tasks_.empty()); });
      if (tasks_.empty()) return;
      const Task task = tasks_.front();
      const bool fails = task.may_fail && failing >= 0 && failing-- == 0;
      const std::chrono::microseconds delay(has_delays ? delays() % kMostDelay : 0);
      lock.unlock();
      if (delay.count() > 0) std::this_thread::sleep_for(delay);
      const std::string error = fails ? "the task fails" : task.work();
      lock.lock();
      if (error_.empty()) error_ = error;
      tasks_.pop_front();
      changed.notify_all();
    }
  }

  std::deque<Task> tasks_;
  std::string error_;
  bool closing_ = false;
  int number_ = 0;
  bool is_own_;  ///< true for the stream that NULL stands for
  std::thread thread_;
};

Stream& stream_of(void* stream) {
  static Stream own(true);
  return stream != nullptr ? *static_cast<Stream*>(stream) : own;
}

mote_status ready(char* message, std::size_t bytes) {
  return is_absent ? say("it was switched off", message, bytes, MOTE_UNSUPPORTED) : MOTE_OK;
}

mote_status allocate(std::size_t bytes, void** made, char* message, std::size_t message_bytes) {
  if (throwing > 0 && throwing-- > 0) throw std::bad_alloc();
  if (bytes > std::size_t{1} << 30)
    return say("no memory", message, message_bytes, MOTE_OUT_OF_MEMORY);
  const std::size_t whole = (bytes + 255) / 256 * 256;
  auto* block = static_cast<char*>(std::aligned_alloc(256, whole));
  std::memset(block, 0xff, whole);
  const std::lock_guard lock(mutex);
  memory[block] = bytes;
  *made = block;
  return MOTE_OK;
}

mote_status release(void* block, char* message, std::size_t bytes) {
  {
    const std::lock_guard lock(mutex);
    if (memory.erase(static_cast<char*>(block)) != 1) return say("unknown memory", message, bytes);
  }
  std::free(block);
  return MOTE_OK;
}

mote_status copy(void* to, DLDevice to_device, const void* from, DLDevice from_device,
                 std::size_t bytes, void* stream, char* message, std::size_t message_bytes) {
  const bool in = to_device.device_type == kDLExtDev;
  const bool out = from_device.device_type == kDLExtDev;
  if (!in && !out) return say("both are the host's", message, message_bytes);
  stream_of(stream).give([=]() -> std::string {
    if (in && !is_memory(to, bytes)) return "writes memory that is not there";
    if (out && !is_memory(from, bytes)) return "reads memory that is not there";
    const auto* begin = static_cast<const char*>(from);
    const auto* target = static_cast<const char*>(to);
    if (begin < target + bytes && target < begin + bytes) return "copies to where it reads";
    std::memcpy(to, from, bytes);
    return "";
  });
  return MOTE_OK;
}

mote_status create_stream(void** stream, char*, std::size_t) {
  *stream = new Stream;
  const std::lock_guard lock(mutex);
  streams.insert(*stream);
  return MOTE_OK;
}
mote_status destroy_stream(void* stream, char* message, std::size_t bytes) {
  {
    const std::lock_guard lock(mutex);
    if (streams.erase(stream) != 1) return say("unknown stream", message, bytes);
  }
  delete static_cast<Stream*>(stream);
  return MOTE_OK;
}
mote_status synchronize(void* stream, char* message, std::size_t bytes) {
  const std::string error = stream_of(stream).synchronize();
  return error.empty() ? MOTE_OK : say(error, message, bytes);
}

// A waiting task may outlive the event.
using Shared = std::shared_ptr<Event>;

mote_status create_event(void** event, char*, std::size_t) {
  *event = new Shared(std::make_shared<Event>());
  const std::lock_guard lock(mutex);
  events.insert(*event);
  return MOTE_OK;
}
mote_status destroy_event(void* event, char* message, std::size_t bytes) {
  {
    const std::lock_guard lock(mutex);
    if (events.erase(event) != 1) return say("unknown event", message, bytes);
  }
  delete static_cast<Shared*>(event);
  return MOTE_OK;
}
mote_status record(void* event, void* stream, char*, std::size_t) {
  Stream& in = stream_of(stream);
  in.give(
      [shared = *static_cast<Shared*>(event), &in]() -> std::string {
        const std::lock_guard lock(mutex);
        shared->is_over = true;
        shared->error = in.error();
        changed.notify_all();
        return "";
      },
      false);
  return MOTE_OK;
}
mote_status wait(void* stream, void* event, char*, std::size_t) {
  stream_of(stream).give(
      [shared = *static_cast<Shared*>(event)]() -> std::string {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return shared->is_over; });
        return "";
      },
      false);
  return MOTE_OK;
}
mote_status synchronize_event(void* event, char* message, std::size_t bytes) {
  const Shared shared = *static_cast<Shared*>(event);
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return shared->is_over; });
  return shared->error.empty() ? MOTE_OK : say(shared->error, message, bytes);
}
mote_status is_over(void* event, std::int32_t* over, char* message, std::size_t bytes) {
  const Shared& shared = *static_cast<Shared*>(event);
  const std::lock_guard lock(mutex);
  *over = shared->is_over ? 1 : 0;
  return shared->error.empty() ? MOTE_OK : say(shared->error, message, bytes);
}

bool is_dense(const DLTensor& t) {
  std::int64_t expected = 1;
  for (int axis = t.ndim; axis-- > 0; expected *= t.shape[axis])
    if (t.shape[axis] != 1 && t.strides != nullptr && t.strides[axis] != expected) return false;
  return true;
}

std::int64_t count_of(const DLTensor& t) {
  std::int64_t count = 1;
  for (int axis = 0; axis < t.ndim; ++axis) count *= t.shape[axis];
  return count;
}

mote_status can_run(const mote_call* call) {
  for (int k = 0; k < call->input_count + call->output_count; ++k) {
    const DLTensor& t =
        k < call->input_count ? *call->inputs[k] : *call->outputs[k - call->input_count];
    const bool mine = t.device.device_type == kDLExtDev && t.dtype.bits == 32 && is_dense(t);
    if (!mine)
      return say("takes dense f32 of its device", call->message, call->message_bytes,
                 MOTE_UNSUPPORTED);
  }
  return MOTE_OK;
}

float* data_of(const DLTensor& t) {
  return reinterpret_cast<float*>(static_cast<char*>(t.data) + t.byte_offset);
}

/// Computes y = body(x0, x1) for each element later; in the workspace first, if there is one.
template <typename Body>
mote_status later(const mote_call* call, void* stream, const Body& body) {
  const auto count = static_cast<std::size_t>(count_of(*call->outputs[0]));
  const float* a = data_of(*call->inputs[0]);
  const float* b = call->input_count > 1 ? data_of(*call->inputs[1]) : a;
  float* y = data_of(*call->outputs[0]);
  auto* workspace = static_cast<float*>(call->workspace);
  const std::size_t room = call->workspace_bytes;
  stream_of(stream).give([=]() -> std::string {
    const std::size_t bytes = count * sizeof(float);
    if (!is_memory(a, bytes) || !is_memory(b, bytes)) return "reads memory that is not there";
    if (!is_memory(y, bytes)) return "writes memory that is not there";
    if (room > 0 && !is_memory(workspace, room)) return "its workspace is not there";
    float* const through = room > 0 ? workspace : y;
    for (std::size_t k = 0; k < count; ++k) through[k] = body(a[k], b[k]);
    if (room > 0) std::memcpy(y, workspace, bytes);
    return "";
  });
  return MOTE_OK;
}

mote_status run_neg(const mote_call* call, void* stream) {
  return later(call, stream, [](float a, float) { return -a; });
}
mote_status run_add(const mote_call* call, void* stream) {
  return later(call, stream, [](float a, float b) { return a + b; });
}
std::size_t room_for_add(const mote_call* call) {
  return static_cast<std::size_t>(count_of(*call->outputs[0])) * sizeof(float);
}

const mote_contract contract = {.size = sizeof(mote_contract),
                                .accumulator = MOTE_ACC_NATIVE,
                                .multiply_rounding = 0,
                                .flushes_denormals = 0,
                                .deterministic = 1,
                                .form = "direct",
                                .function_count = 0,
                                .in_place_count = MOTE_IN_PLACE_ALL,
                                .functions = nullptr,
                                .in_place = nullptr,
                                .ignores_nan = 0,
                                .reserved = 0,
                                .indices = MOTE_INDICES_ANY,
                                .reserved_end = 0};
const mote_kernel kernels[] = {
    {sizeof(mote_kernel), "neg", &contract, can_run, nullptr, run_neg, nullptr},
    {sizeof(mote_kernel), "add", &contract, can_run, room_for_add, run_add, nullptr}};
const mote_backend backend = {.size = sizeof(mote_backend),
                              .name = "late",
                              .version = "1",
                              .kernel_count = 2,
                              .reserved = 0,
                              .kernels = kernels};
const mote_device device = {
    sizeof(mote_device), "late",         kDevice,     ready,        allocate,      release, copy,
    create_stream,       destroy_stream, synchronize, create_event, destroy_event, record,  wait,
    synchronize_event,   is_over};

}  // namespace

extern "C" {
mote_status mote_plugin_init(mote_plugin* plugin) {
  plugin->abi_version = MOTE_ABI_VERSION;
  plugin->backend_count = 1;
  plugin->backends = &backend;
  return MOTE_OK;
}
mote_status mote_plugin_devices(const mote_device** devices, std::int32_t* count) {
  *devices = &device;
  *count = 1;
  return MOTE_OK;
}

/// Sets the hold: no stream begins a task (1), or the oldest does not (2).
MOTE_PLUGIN_EXPORT void late_hold(int held) {
  const std::lock_guard lock(mutex);
  hold = static_cast<Hold>(held);
  changed.notify_all();
}
/// Makes each task wait for a random time before it begins; 0: none waits.
MOTE_PLUGIN_EXPORT void late_delay(unsigned seed) {
  const std::lock_guard lock(mutex);
  has_delays = seed != 0;
  delays.seed(seed);
}
/// Makes the copy or kernel with that number, counted from now, fail; -1: none.
MOTE_PLUGIN_EXPORT void late_fail(int task) {
  const std::lock_guard lock(mutex);
  failing = task;
}
MOTE_PLUGIN_EXPORT void late_switch_off(int off) { is_absent = off != 0; }
MOTE_PLUGIN_EXPORT void late_throw(int calls) { throwing = calls; }
/// Returns the number of blocks of memory, streams and events that were not released.
MOTE_PLUGIN_EXPORT int late_live() {
  const std::lock_guard lock(mutex);
  return static_cast<int>(memory.size() + streams.size() + events.size());
}
}
