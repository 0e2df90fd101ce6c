// SPDX-License-Identifier: Apache-2.0
#include "command/kernel_choice.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "mote/base/kernel_call.h"
#include "mote/base/plugin.h"
#include "mote/runtime/context.h"
#include "mote/runtime/status.h"
#include "mote/runtime/tune.h"
#include "tensor/view.h"

namespace mote {
namespace {

/// True if the call may have that number of bytes of workspace: the caller's, of the context's
/// pool, or of the device that the tensors are on, if it is known; the context's limit applies
/// there too.
bool allows(const RunOptions& options, const CallTensors& tensors, std::size_t bytes) {
  if (bytes == 0) return true;
  if (options.workspace.data() != nullptr) return bytes <= aligned(options.workspace).size();
  if (!tensors.on_host && !tensors.device) return false;
  if (options.context != nullptr) return options.context->workspace().allows(bytes);
  return bytes <= kNoWorkspaceLimit;
}

/// The first kernel that takes the call. The reason of the first decline is kept; the first
/// MOTE_INVALID replaces another one.
class Choice {
 public:
  Choice(KernelCall& call, const CallTensors& tensors, const RunOptions& options)
      : call_(call), tensors_(tensors), options_(options) {
    call_.listen(message_);
  }

  ChosenKernel chosen;
  mote_status status = MOTE_UNSUPPORTED;
  std::array<char, 512> reason{};

  /// Asks one kernel. True if a kernel has taken the call.
  bool ask(const mote_kernel& candidate) {
    if (chosen.kernel != nullptr) return true;
    if (std::strcmp(candidate.op, call_.call().op) != 0) return false;
    if (!may_be_asked(*candidate.contract, tensors_, options_.without_nan)) return false;
    const mote_status answer = call_.can_run(candidate);
    if (answer != MOTE_OK) {
      keep(answer, message_.data());
      return false;
    }
    std::size_t bytes = 0;
    const mote_status fits = call_.workspace_bytes(candidate, bytes);
    if (fits != MOTE_OK) {
      keep(fits, message_.data());
      return false;
    }
    if (allows(options_, tensors_, bytes)) {
      chosen = {&candidate, bytes};
      return true;
    }
    std::array<char, 128> text{};
    const bool nowhere = !tensors_.on_host && !tensors_.device;
    std::snprintf(text.data(), text.size(), "a kernel needs %zu bytes of workspace, %s", bytes,
                  nowhere ? "and no plug-in that was loaded offers the tensors' device"
                          : "which is more than there may be");
    keep(MOTE_OUT_OF_MEMORY, text.data());
    return false;
  }
  void ask(const mote_backend& backend) {
    for (std::int32_t k = 0; k < backend.kernel_count && chosen.kernel == nullptr; ++k)
      ask(kernel_at(backend, k));
  }

 private:
  void keep(mote_status answer, const char* why) {
    if (reason.front() != '\0' && (answer != MOTE_INVALID || status == MOTE_INVALID)) return;
    status = answer;
    const std::size_t size = std::min(std::strlen(why), reason.size() - 1);
    std::memcpy(reason.data(), why, size);
    reason[size] = '\0';
  }

  KernelCall& call_;
  const CallTensors& tensors_;
  const RunOptions& options_;
  CallMessage message_;
};

const mote_backend& given(const Command& command, const mote_backend* backend) {
  if (backend == nullptr) fail_call(command, MOTE_INVALID, "a backend is null");
  return *backend;
}

void ask_all(Choice& choice, const Command& command, const CallTensors& tensors,
             const RunOptions& options) {
  for (const mote_backend* backend : options.backends) choice.ask(given(command, backend));
  if (options.context != nullptr) {
    if (const mote_kernel* fastest = options.context->tuning().find(command, tensors))
      choice.ask(*fastest);
    for (const mote_backend* backend : options.context->backends()) choice.ask(*backend);
  }
  for (const GeneratedKernel& k : command.generated()) {
    if (k.dtype != tensors.instance || k.input_mask != tensors.input_mask) continue;
    if (k.gen != nullptr) choice.ask(*k.gen);
    choice.ask(*k.reference);
  }
}

bool are_on_one_device(const CallTensors& tensors) {
  return std::ranges::all_of(tensors.operands, [&](const CallOperand& operand) {
    const DLDevice& first = tensors.operands[0].tensor->device;
    const DLDevice& device = operand.tensor->device;
    return device.device_type == first.device_type && device.device_id == first.device_id;
  });
}

}  // namespace

std::span<std::byte> aligned(std::span<std::byte> workspace) {
  void* begin = workspace.data();
  std::size_t bytes = workspace.size();
  if (std::align(kAlignment, 0, begin, bytes) == nullptr) return {};
  return {static_cast<std::byte*>(begin), bytes};
}

void fail_call(const Command& command, mote_status status, const char* reason) {
  std::string text = *reason != '\0' ? reason : "the kernel gives no reason";
  const std::string prefix = std::string(command.definition().name) + ": ";
  if (!text.starts_with(prefix)) text.insert(0, prefix);
  throw StatusError(status, text);
}

ChosenKernel choose_kernel(const Command& command, const CallTensors& tensors, KernelCall& call,
                           const RunOptions& options) {
  Choice choice(call, tensors, options);
  ask_all(choice, command, tensors, options);
  if (choice.chosen.kernel != nullptr) return choice.chosen;
  if (!are_on_one_device(tensors))
    fail_call(command, MOTE_UNSUPPORTED,
              ("no kernel takes tensors of several devices; they must be copied to one" +
               describe_call(command, tensors))
                  .c_str());
  if (choice.reason.front() != '\0') fail_call(command, choice.status, choice.reason.data());
  // None of the op's generated kernels has this dtype or choice of inputs.
  fail_call(
      command, MOTE_UNSUPPORTED,
      ("no kernel for " + std::string(name(tensors.instance)) + describe_call(command, tensors))
          .c_str());
}

bool may_be_asked(const mote_contract& contract, const CallTensors& tensors, bool without_nan) {
  if (ignores_nan(contract) && !without_nan) return false;
  if (indices_of(contract) != MOTE_INDICES_ANY)
    return false;  // a call does not state its range of indices
  if (!tensors.in_place) return true;
  for (std::size_t n = 0; n < tensors.operands.size(); ++n)
    for (std::size_t m = 0; m < n; ++m) {
      const CallOperand& x = tensors.operands[m];
      const CallOperand& y = tensors.operands[n];
      const bool pair =
          y.is_output && !x.is_output && address_of(*x.tensor) == address_of(*y.tensor);
      if (pair && !promises_in_place(contract, tensors.slots[m], tensors.slots[n])) return false;
    }
  return true;
}

std::vector<NamedKernel> kernels_of(const Command& command, DType instance, TensorMask input_mask,
                                    std::span<const mote_backend* const> backends) {
  std::vector<NamedKernel> kernels;
  for (const mote_backend* backend : backends) {
    int location = 0;
    for (std::int32_t k = 0; k < backend->kernel_count; ++k) {
      const mote_kernel& kernel = kernel_at(*backend, k);
      if (std::strcmp(kernel.op, command.definition().name) != 0) continue;
      kernels.push_back({location == 0
                             ? std::string(backend->name)
                             : std::string(backend->name) + ":" + std::to_string(location),
                         &kernel});
      ++location;
    }
  }
  for (const GeneratedKernel& k : command.generated()) {
    if (k.dtype != instance || k.input_mask != input_mask) continue;
    if (k.gen != nullptr) kernels.push_back({"gen", k.gen});
    kernels.push_back({"reference", k.reference});
  }
  return kernels;
}

}  // namespace mote
