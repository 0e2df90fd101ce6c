// SPDX-License-Identifier: Apache-2.0
// Runs work on the GPU. In: work; out: the work on a stream, between copies if the tensors are the
// host's.
#include "device_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "mote/base/dlpack.h"

namespace mote::cuda {
namespace {

/// The bytes of a copy for each byte of elements; a call with more is declined.
constexpr std::size_t kMaxGaps = 8;

using backend::Check;

/// A range of the host's memory, and its copy on the GPU.
struct Area {
  char* begin;
  char* end;
  bool written;
  DevicePointer device = 0;
};

/// Returns nullopt if the tensor has no elements or no data.
std::optional<Area> area_of(const CallTensor& t) {
  const auto memory = t.tensor != nullptr ? memory_of(*t.tensor) : std::span<std::byte>();
  if (memory.empty()) return std::nullopt;
  char* const begin = reinterpret_cast<char*>(memory.data());
  return Area{begin, begin + memory.size(), t.written};
}

/// Returns the areas of the tensors. Areas that overlap become one, so that tensors that share
/// memory share it on the GPU too.
std::vector<Area> areas_of(const std::vector<CallTensor>& tensors) {
  std::vector<Area> all;
  for (const CallTensor& t : tensors)
    if (const auto area = area_of(t)) all.push_back(*area);
  std::ranges::sort(all, std::less<>(), &Area::begin);
  std::vector<Area> joined;
  for (const Area& a : all) {
    if (joined.empty() || a.begin >= joined.back().end) {
      joined.push_back(a);
      continue;
    }
    joined.back().end = std::max(joined.back().end, a.end);
    joined.back().written = joined.back().written || a.written;
  }
  return joined;
}

/// Converts an address: the driver's are integers, those in arguments of kernels are pointers.
void* pointer_of(DevicePointer at) {
  return reinterpret_cast<void*>(at);  // NOLINT(performance-no-int-to-ptr)
}

class DeviceCall {
 public:
  DeviceCall(Device& device, const DeviceWork& work, std::string& doing)
      : device_(device), work_(work), doing_(doing) {}

  ~DeviceCall() {
    if (stream_ != nullptr && !held_.empty())
      calls().synchronize(stream_);  // happens only after an error
    while (!held_.empty()) held_.pop_back();
  }
  DeviceCall(const DeviceCall&) = delete;
  DeviceCall& operator=(const DeviceCall&) = delete;

  void run_here(void* workspace, void* stream) {
    held_.push_back(device_.enter());
    std::vector<void*> data;
    for (const CallTensor& t : work_.tensors) data.push_back(t.data);
    work_.run({data, workspace, static_cast<DriverStream*>(stream), doing_});
    release();
  }

  void run_on_copies() {
    held_.push_back(device_.enter());
    make_stream();
    std::vector<Area> areas = areas_of(work_.tensors);
    for (Area& a : areas) {
      const std::size_t before = work_.keeps_alignment ? beyond_alignment(a.begin) : 0;
      a.device = new_memory(before + bytes_of(a)) + before;
      check(calls().copy_in(a.device, a.begin, bytes_of(a), stream_), "cuMemcpyHtoDAsync");
    }
    void* workspace = nullptr;
    if (work_.workspace_bytes > 0) workspace = pointer_of(new_memory(work_.workspace_bytes));
    std::vector<void*> data;
    for (const CallTensor& t : work_.tensors) data.push_back(on_gpu(t, areas));
    work_.run({data, workspace, stream_, doing_});
    for (const Area& a : areas)
      if (a.written)
        check(calls().copy_out(a.begin, a.device, bytes_of(a), stream_), "cuMemcpyDtoHAsync");
    check(calls().synchronize(stream_), "cuStreamSynchronize");
    release();
  }

 private:
  const DriverCalls& calls() const { return device_.driver().calls(); }
  void check(int status, const char* call) const { device_.driver().check(status, call); }
  static std::size_t bytes_of(const Area& a) { return static_cast<std::size_t>(a.end - a.begin); }

  static std::size_t beyond_alignment(const char* at) {
    constexpr std::uintptr_t kAlignment = 256;  // that of the driver's memory
    return reinterpret_cast<std::uintptr_t>(at) % kAlignment;
  }

  void make_stream() {
    constexpr unsigned kNonBlocking = 1;
    check(calls().create_stream(&stream_, kNonBlocking), "cuStreamCreate");
    held_.emplace_back(device_.driver(), "cuStreamDestroy",
                       [this] { return calls().destroy_stream(std::exchange(stream_, nullptr)); });
  }

  DevicePointer new_memory(std::size_t bytes) {
    DevicePointer made = 0;
    check(calls().allocate(&made, bytes), "cuMemAlloc");
    held_.emplace_back(device_.driver(), "cuMemFree", [this, made] { return calls().free(made); });
    return made;
  }

  /// Returns the address of the element of index 0; null if there are no elements.
  static void* on_gpu(const CallTensor& t, const std::vector<Area>& areas) {
    const auto own = area_of(t);
    if (!own) return nullptr;
    const auto in = std::ranges::find_if(
        areas, [&](const Area& a) { return a.begin <= own->begin && own->end <= a.end; });
    const std::int64_t offset = static_cast<char*>(t.data) - in->begin;
    return pointer_of(in->device + static_cast<DevicePointer>(offset));
  }

  void release() {
    while (!held_.empty()) {
      Held last = std::move(held_.back());
      held_.pop_back();
      last.release();
    }
  }

  Device& device_;
  const DeviceWork& work_;
  std::string& doing_;
  DriverStream* stream_ = nullptr;  ///< the stream of the copies
  std::vector<Held> held_;          ///< freed from the last to the first
};

}  // namespace

backend::Refusal failed(Device& device, const DriverError& e, const std::string& doing) {
  std::string text = fmt::format("{}: {}", doing, e.what());
  if (e.loses_context()) {
    device.lose(text);
    text += "; the GPU's context is lost: this process can use it no more";
  }
  return {e.is_out_of_memory() ? MOTE_OUT_OF_MEMORY : MOTE_FAILED, text};
}

backend::Refusal failed(const LibraryError& e, const std::string& doing) {
  const mote_status status = e.kind() == Failure::out_of_memory ? MOTE_OUT_OF_MEMORY
                             : e.kind() == Failure::unsupported ? MOTE_UNSUPPORTED
                                                                : MOTE_FAILED;
  return {status, fmt::format("{}: {}", doing, e.what())};
}

Check find_location(const mote_call& call, bool& on_gpu) {
  int tensors = 0;
  int gpu = 0;
  for (const CallTensor& t : tensors_of(call)) {
    if (t.tensor == nullptr) continue;
    ++tensors;
    const DLDevice& device = t.tensor->device;
    gpu += device.device_type == kDLCUDA ? 1 : 0;
    // A copy is of the whole range from the tensor's first element to its last.
    if (device.device_type == kDLCPU &&
        backend::is_mostly_gaps(memory_of(*t.tensor).size(), backend::bytes_of_elements(*t.tensor),
                                kMaxGaps))
      return backend::unsupported("a tensor in the host's memory is mostly gaps");
    if (device.device_type == kDLCPU) continue;
    if (device.device_type != kDLCUDA || device.device_id != 0)
      return backend::unsupported(
          "a tensor is neither in the host's memory nor in the first GPU's");
  }
  on_gpu = gpu > 0;
  if (gpu > 0 && gpu < tensors)
    return backend::unsupported("some tensors are in the host's memory, some in the GPU's");
  return {};
}

std::vector<CallTensor> tensors_of(const mote_call& call) {
  std::vector<CallTensor> all;
  const auto add = [&](const DLTensor* t, bool written) {
    void* data =
        t == nullptr || t->data == nullptr ? nullptr : static_cast<char*>(t->data) + t->byte_offset;
    all.push_back({t, data, written});
  };
  for (int k = 0; k < call.input_count; ++k) add(call.inputs[k], false);
  for (int k = 0; k < call.output_count; ++k) add(call.outputs[k], true);
  return all;
}

Check run_on_device(const mote_call& call, void* stream, const DeviceWork& work) {
  bool on_gpu = false;
  if (Check check = find_location(call, on_gpu)) return check;
  std::shared_ptr<Device> device;
  std::string doing = work.name;
  try {
    device = Device::open();
    if (const auto lost = device->lost())
      return backend::Refusal{
          MOTE_FAILED, fmt::format("{}: the GPU's context was lost before: {}", doing, *lost)};
    DeviceCall one(*device, work, doing);
    if (on_gpu)
      one.run_here(call.workspace, stream);
    else
      one.run_on_copies();
  } catch (const DriverError& e) {
    if (device != nullptr) return failed(*device, e, doing);
    return backend::Refusal{MOTE_FAILED, fmt::format("{}: {}", doing, e.what())};
  } catch (const LibraryError& e) {
    return failed(e, doing);
  } catch (const Error& e) {
    return backend::Refusal{MOTE_FAILED, fmt::format("{}: {}", doing, e.what())};
  }
  return {};
}

}  // namespace mote::cuda
