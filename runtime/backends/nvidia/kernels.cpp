// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace mote::nvidia {
namespace {

using backend::Check;

/// The alignment of workspace that NVIDIA's libraries require, and the one that callers promise.
constexpr std::size_t kLibraryAlignment = 256;
constexpr std::size_t kCallersAlignment = 64;

/// Returns the size of a caller's workspace that holds the work's, wherever it begins.
std::size_t bytes_of_caller(const Work& work) {
  if (work.workspace_bytes == 0) return 0;
  return work.workspace_bytes + kLibraryAlignment - kCallersAlignment;
}

/// Moves the work's workspace to the next address that the libraries take.
std::function<void(const cuda::OnDevice&)> aligned(Work work) {
  return [run = std::move(work.run)](const cuda::OnDevice& at) {
    const auto past = reinterpret_cast<std::uintptr_t>(at.workspace) % kLibraryAlignment;
    cuda::OnDevice with = at;
    if (past != 0) with.workspace = static_cast<char*>(at.workspace) + (kLibraryAlignment - past);
    run(with);
  };
}

const Op& op_named(const char* name, const Table& table) {
  for (const Op& op : table.ops)
    if (std::string_view(name) == op.name) return op;
  decline(fmt::format("no kernel for {}", name));
}

/// Builds the call's work and passes it to the body, in the GPU's context.
Check with_work(const mote_call& call, const Table& table,
                const std::function<Check(Work&, bool on_gpu)>& body) {
  bool on_gpu = false;
  if (Check no = cuda::find_location(call, on_gpu)) return no;
  const std::string name = fmt::format("{} {}", table.backend, call.op);
  std::shared_ptr<cuda::Device> device;
  try {
    const Op& op = op_named(call.op, table);
    if (Check no = backend::check_param_names(call, op.parameters)) return no;
    device = cuda::Device::open();
    if (const auto lost = device->lost())
      return backend::Refusal{
          MOTE_FAILED, fmt::format("{}: the GPU's context was lost before: {}", name, *lost)};
    cuda::Held context = device->enter();
    Work work = op.build(Reader(call, table.kind));
    Check result = body(work, on_gpu);
    if (!result) context.release();
    return result;
  } catch (const Declined& declined) {
    return declined.refusal;
  } catch (const cuda::DriverError& e) {
    if (device != nullptr) return cuda::failed(*device, e, name);
    return backend::Refusal{MOTE_FAILED, fmt::format("{}: {}", name, e.what())};
  } catch (const cuda::LibraryError& e) {
    return cuda::failed(e, name);
  } catch (const Error& e) {  // there is no driver, no GPU or no library
    return backend::unsupported(e.what());
  }
}

mote_backend backend_of(const char* name, const std::vector<mote_kernel>& kernels) {
  return {.size = sizeof(mote_backend),
          .name = name,
          .version = MOTE_VERSION,
          .kernel_count = static_cast<std::int32_t>(kernels.size()),
          .reserved = 0,
          .kernels = kernels.data()};
}

}  // namespace

mote_status can_run(const mote_call& call, const Table& table) {
  return backend::guarded(call, [&]() -> Check {
    Check no = with_work(call, table, [](const Work&, bool) -> Check { return {}; });
    if (no && no->status != MOTE_INVALID) no->status = MOTE_UNSUPPORTED;
    return no;
  });
}

/// Returns 0 for tensors of the host: then the workspace is allocated on the GPU with their copies.
std::size_t workspace_bytes(const mote_call& call, const Table& table) {
  std::size_t bytes = 0;
  backend::guarded(call, [&] {
    return with_work(call, table, [&](const Work& work, bool on_gpu) -> Check {
      bytes = on_gpu ? bytes_of_caller(work) : 0;
      return {};
    });
  });
  return bytes;
}

mote_status run(const mote_call& call, void* stream, const Table& table) {
  return backend::guarded(call, [&] {
    return with_work(call, table, [&](Work& work, bool on_gpu) -> Check {
      if (on_gpu && call.workspace_bytes < bytes_of_caller(work))
        return backend::invalid(fmt::format("{} bytes of workspace, expected {}",
                                            call.workspace_bytes, bytes_of_caller(work)));
      const std::size_t bytes = work.workspace_bytes;
      return cuda::run_on_device(call, stream,
                                 {.name = fmt::format("{} {}", table.backend, call.op),
                                  .tensors = cuda::tensors_of(call),
                                  .workspace_bytes = bytes,
                                  .run = aligned(std::move(work))});
    });
  });
}

Backends::Backends(const char* exact_name, std::vector<mote_kernel> exact, const char* tf32_name,
                   std::vector<mote_kernel> tf32)
    : exact_(std::move(exact)),
      tf32_(std::move(tf32)),
      all_{backend_of(exact_name, exact_), backend_of(tf32_name, tf32_)} {}

mote_status Backends::offer(mote_plugin& plugin) const {
  plugin.abi_version = MOTE_ABI_VERSION;
  plugin.backend_count = static_cast<std::int32_t>(all_.size());
  plugin.backends = all_.data();
  return MOTE_OK;
}

}  // namespace mote::nvidia
