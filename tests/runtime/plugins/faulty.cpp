// SPDX-License-Identifier: Apache-2.0
// A backend whose kernels break their promises, each in its own way.
#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>

#include "mote/base/kernel.h"

namespace {

mote_status accept(const mote_call*) { return MOTE_OK; }
mote_status throwing_can_run(const mote_call*) { throw std::runtime_error("never asked before"); }
std::size_t throwing_workspace(const mote_call*) { throw std::bad_alloc(); }
std::size_t endless_workspace(const mote_call*) { return SIZE_MAX; }
mote_status throwing_run(const mote_call*, void*) { throw std::runtime_error("it broke"); }
mote_status throwing_int(const mote_call*, void*) { throw 3; }
mote_status unknown_status(const mote_call*, void*) { return static_cast<mote_status>(7); }
mote_status silent_failure(const mote_call*, void*) { return MOTE_FAILED; }
mote_status endless_message(const mote_call* call, void*) {
  std::memset(call->message, 'x', call->message_bytes);
  return MOTE_FAILED;
}

constexpr mote_contract kContract = {.size = sizeof(mote_contract),
                                     .accumulator = MOTE_ACC_NATIVE,
                                     .multiply_rounding = 0,
                                     .flushes_denormals = 0,
                                     .deterministic = 1,
                                     .form = "direct",
                                     .function_count = 0,
                                     .in_place_count = 0,
                                     .functions = nullptr,
                                     .in_place = nullptr,
                                     .ignores_nan = 0,
                                     .reserved = 0,
                                     .indices = MOTE_INDICES_ANY,
                                     .reserved_end = 0};

constexpr std::size_t kSize = sizeof(mote_kernel);
constexpr std::array<mote_kernel, 8> kKernels = {{
    {kSize, "relu", &kContract, throwing_can_run, nullptr, throwing_run, nullptr},
    {kSize, "exp", &kContract, accept, throwing_workspace, throwing_run, nullptr},
    {kSize, "sqrt", &kContract, accept, endless_workspace, throwing_run, nullptr},
    {kSize, "neg", &kContract, accept, nullptr, throwing_run, nullptr},
    {kSize, "abs", &kContract, accept, nullptr, throwing_int, nullptr},
    {kSize, "floor", &kContract, accept, nullptr, unknown_status, nullptr},
    {kSize, "ceil", &kContract, accept, nullptr, silent_failure, nullptr},
    {kSize, "sign", &kContract, accept, nullptr, endless_message, nullptr},
}};
constexpr mote_backend kBackend = {.size = sizeof(mote_backend),
                                   .name = "faulty",
                                   .version = "1",
                                   .kernel_count = static_cast<std::int32_t>(kKernels.size()),
                                   .reserved = 0,
                                   .kernels = kKernels.data()};

}  // namespace

extern "C" mote_status mote_plugin_init(mote_plugin* plugin) {
  plugin->backend_count = 1;
  plugin->backends = &kBackend;
  return MOTE_OK;
}
