// In: a plan; out: launches on a stream, between copies where the tensors are the host's.
#include "gpu_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gpu.h"
#include "mote/base/dlpack.h"

namespace mote::cuda {
namespace {

using backend::Check;

/// A part of the host's memory, and its copy on the GPU.
struct Area {
  char* begin;
  char* end;
  bool written;
  DevicePointer device = 0;
};

/// nullopt where the view has no elements or no data.
std::optional<Area> area_of(const TensorView& view, bool written) {
  const auto memory = view.tensor != nullptr ? memory_of(*view.tensor) : std::span<std::byte>();
  if (memory.empty()) return std::nullopt;
  char* const begin = reinterpret_cast<char*>(memory.data());
  return Area{begin, begin + memory.size(), written};
}

/// Areas that overlap become one, so that tensors that share memory share it on the GPU too.
std::vector<Area> areas_of(const Plan& plan) {
  std::vector<Area> all;
  for (std::size_t k = 0; k < plan.views().size(); ++k)
    if (const auto area = area_of(plan.views()[k], k >= plan.input_count())) all.push_back(*area);
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

/// The driver's addresses are integers, those in arguments of kernels pointers.
void* pointer_of(DevicePointer at) {
  return reinterpret_cast<void*>(at);  // NOLINT(performance-no-int-to-ptr)
}

class GpuCall {
 public:
  GpuCall(Gpu& gpu, const OpInstance& instance, Variant variant, const Plan& plan)
      : gpu_(gpu),
        instance_(instance),
        variant_(variant),
        plan_(plan),
        doing_(instance.function()) {}

  ~GpuCall() {
    if (stream_ != nullptr && !held_.empty()) calls().synchronize(stream_);  // after an error
    while (!held_.empty()) held_.pop_back();
  }
  GpuCall(const GpuCall&) = delete;
  GpuCall& operator=(const GpuCall&) = delete;

  /// The kernel, or the kernels, that an error now is of.
  const std::string& doing() const { return doing_; }

  void run_here(void* workspace, void* stream) {
    held_.push_back(gpu_.enter());
    std::vector<void*> data;
    for (const TensorView& view : plan_.views()) data.push_back(view.data);
    launch(data, workspace, static_cast<DriverStream*>(stream));
    release();
  }

  void run_on_copies() {
    held_.push_back(gpu_.enter());
    make_stream();
    std::vector<Area> areas = areas_of(plan_);
    for (Area& a : areas) {
      a.device = new_memory(bytes_of(a));
      check(calls().copy_in(a.device, a.begin, bytes_of(a), stream_), "cuMemcpyHtoDAsync");
    }
    void* workspace = nullptr;
    if (plan_.workspace_bytes() > 0) workspace = pointer_of(new_memory(plan_.workspace_bytes()));
    std::vector<void*> data;
    for (const TensorView& view : plan_.views()) data.push_back(on_gpu(view, areas));
    launch(data, workspace, stream_);
    for (const Area& a : areas)
      if (a.written)
        check(calls().copy_out(a.begin, a.device, bytes_of(a), stream_), "cuMemcpyDtoHAsync");
    check(calls().synchronize(stream_), "cuStreamSynchronize");
    release();
  }

 private:
  const DriverCalls& calls() const { return gpu_.driver().calls(); }
  void check(int status, const char* call) const { gpu_.driver().check(status, call); }
  static std::size_t bytes_of(const Area& a) { return static_cast<std::size_t>(a.end - a.begin); }

  void make_stream() {
    constexpr unsigned kNonBlocking = 1;
    check(calls().create_stream(&stream_, kNonBlocking), "cuStreamCreate");
    held_.emplace_back(gpu_.driver(), "cuStreamDestroy",
                       [this] { return calls().destroy_stream(stream_); });
  }

  DevicePointer new_memory(std::size_t bytes) {
    DevicePointer made = 0;
    check(calls().allocate(&made, bytes), "cuMemAlloc");
    held_.emplace_back(gpu_.driver(), "cuMemFree", [this, made] { return calls().free(made); });
    return made;
  }

  /// Where the first element of the view's index 0 lies; null where it has no elements.
  static void* on_gpu(const TensorView& view, const std::vector<Area>& areas) {
    const auto own = area_of(view, false);
    if (!own) return nullptr;
    const auto in = std::ranges::find_if(
        areas, [&](const Area& a) { return a.begin <= own->begin && own->end <= a.end; });
    const std::int64_t offset = static_cast<char*>(view.data) - in->begin;
    return pointer_of(in->device + static_cast<DevicePointer>(offset));
  }

  void launch(const std::vector<void*>& data, void* workspace, DriverStream* stream) {
    std::string launched;
    for (Launch& l : plan_.launches(data, workspace)) {
      const std::string& name = l.kernel->function;
      doing_ = name;
      std::vector<void*> arguments;
      for (ArgumentValue& a : l.arguments) arguments.push_back(a.words.data());
      DriverFunction* const function = gpu_.function(instance_, variant_, name);
      check(calls().launch(function, static_cast<unsigned>(l.blocks), 1, 1,
                           static_cast<unsigned>(l.threads), 1, 1, 0, stream, arguments.data(),
                           nullptr),
            "cuLaunchKernel");
      launched += (launched.empty() ? "" : ", ") + name;
    }
    if (!launched.empty()) doing_ = launched;
  }

  void release() {
    while (!held_.empty()) {
      Held last = std::move(held_.back());
      held_.pop_back();
      last.release();
    }
  }

  Gpu& gpu_;
  const OpInstance& instance_;
  Variant variant_;
  const Plan& plan_;
  std::string doing_;
  DriverStream* stream_ = nullptr;  ///< of the copies
  std::vector<Held> held_;          ///< given back from the last to the first
};

Check failed(Gpu& gpu, const DriverError& e, const std::string& doing) {
  std::string text = fmt::format("{}: {}", doing, e.what());
  if (e.loses_context()) {
    gpu.lose(text);
    text += "; the GPU's context is lost: this process can use it no more";
  }
  return backend::Refusal{e.is_out_of_memory() ? MOTE_OUT_OF_MEMORY : MOTE_FAILED, text};
}

}  // namespace

Check find_place(const mote_call& call, bool& on_gpu) {
  int tensors = 0;
  int gpu = 0;
  const auto look = [&](const DLTensor* t) -> Check {
    if (t == nullptr) return {};
    ++tensors;
    gpu += t->device.device_type == kDLCUDA ? 1 : 0;
    if (t->device.device_type == kDLCPU) return {};
    if (t->device.device_type == kDLCUDA && t->device.device_id == 0) return {};
    return backend::unsupported("a tensor is neither in the host's memory nor in the first GPU's");
  };
  for (int k = 0; k < call.input_count; ++k)
    if (Check check = look(call.inputs[k])) return check;
  for (int k = 0; k < call.output_count; ++k)
    if (Check check = look(call.outputs[k])) return check;
  on_gpu = gpu > 0;
  if (gpu > 0 && gpu < tensors)
    return backend::unsupported("some tensors are in the host's memory, some in the GPU's");
  return {};
}

Check run_on_gpu(const mote_call& call, void* stream, const OpInstance& instance, Variant variant,
                 const Plan& plan) {
  bool on_gpu = false;
  if (Check check = find_place(call, on_gpu)) return check;
  std::shared_ptr<Gpu> gpu;
  std::string doing = instance.function();
  try {
    gpu = Gpu::open();
    if (const auto lost = gpu->lost())
      return backend::Refusal{
          MOTE_FAILED, fmt::format("{}: the GPU's context was lost before: {}", doing, *lost)};
    GpuCall one(*gpu, instance, variant, plan);
    try {
      if (on_gpu)
        one.run_here(call.workspace, stream);
      else
        one.run_on_copies();
    } catch (...) {
      doing = one.doing();
      throw;
    }
  } catch (const DriverError& e) {
    if (gpu != nullptr) return failed(*gpu, e, doing);
    return backend::Refusal{MOTE_FAILED, fmt::format("{}: {}", doing, e.what())};
  } catch (const Error& e) {
    return backend::Refusal{MOTE_FAILED, fmt::format("{}: {}", doing, e.what())};
  }
  return {};
}

}  // namespace mote::cuda
