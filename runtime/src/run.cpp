// One call of a command: what can be said without a kernel is checked here, then the tensors are
// fitted to the kernel's ranks, a kernel is found that takes them, and it runs once for each round
// of the batch.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

#include "check_call.h"
#include "fit.h"
#include "mote/base/dlpack.h"
#include "mote/base/kernel_call.h"
#include "mote/base/plugin.h"
#include "mote/runtime/command.h"
#include "mote/runtime/status.h"
#include "small_array.h"

namespace mote {
namespace {

/// The tensors as a kernel takes them, and the call around them.
class KernelCall {
 public:
  KernelCall(const Command& command, const CallTensors& tensors)
      : command_(command),
        tensors_(tensors),
        input_room_(tensors.inputs.size()),
        output_room_(tensors.outputs.size()),
        view_room_(tensors.operands.size()),
        dl_room_(tensors.operands.size()) {
    SmallArray<AxisStrides, kFewOperands> scratch(tensors.operands.size());
    batch_ = fit(command.definition(), command.is_pointwise(), command.axis(), tensors.operands,
                 view_room_.get(), scratch.get());
    point();
  }

  /// Valid as long as this object; `message` is where kernels write.
  mote_call get() {
    return {.size = sizeof(mote_call),
            .op = command_.definition().name,
            .input_count = static_cast<std::int32_t>(input_room_.get().size()),
            .output_count = static_cast<std::int32_t>(output_room_.get().size()),
            .param_count = static_cast<std::int32_t>(command_.params().size()),
            .reserved = 0,
            .inputs = input_room_.get().data(),
            .outputs = output_room_.get().data(),
            .params = command_.params().data(),
            .workspace = nullptr,
            .workspace_bytes = 0,
            .message = message.data(),
            .message_bytes = message.size()};
  }

  /// Runs `step` at each index of the batch, until it fails.
  template <typename Step>
  mote_status each_round(const Step& step) {
    std::array<std::int64_t, kMaxAxes> index{};
    for (int axis = 0; axis < batch_.rank; ++axis)
      if (batch_.extents[static_cast<std::size_t>(axis)] == 0) return MOTE_OK;
    while (true) {
      const mote_status status = step();
      if (status != MOTE_OK) return status;
      int axis = batch_.rank - 1;
      for (; axis >= 0; --axis) {
        const auto a = static_cast<std::size_t>(axis);
        if (++index[a] < batch_.extents[a]) {
          advance(a, 1);
          break;
        }
        advance(a, 1 - index[a]);
        index[a] = 0;
      }
      if (axis < 0) return MOTE_OK;
    }
  }

  std::array<char, 512> message{};

 private:
  void point() {
    std::ranges::fill(input_room_.get(), nullptr);
    for (std::size_t n = 0; n < tensors_.operands.size(); ++n) {
      const Operand& o = tensors_.operands[n];
      KernelView& view = view_room_.get()[n];
      DLTensor& dl = dl_room_.get()[n];
      dl = o.tensor->dl();
      dl.ndim = view.rank;
      dl.shape = view.extents.data();
      dl.strides = view.strides.data();
      const auto slot = static_cast<std::size_t>(tensors_.slots[n]);
      if (o.is_output)
        output_room_.get()[slot] = &dl;
      else
        input_room_.get()[slot] = &dl;
    }
  }

  void advance(std::size_t axis, std::int64_t steps) {
    for (std::size_t n = 0; n < tensors_.operands.size(); ++n) {
      DLTensor& dl = dl_room_.get()[n];
      const std::int64_t elements = view_room_.get()[n].batch_strides[axis] * steps;
      dl.byte_offset += static_cast<std::uint64_t>(elements) * (dl.dtype.bits / 8U);
    }
  }

  const Command& command_;
  const CallTensors& tensors_;
  SmallArray<const DLTensor*, kFewOperands> input_room_;
  SmallArray<DLTensor*, kFewOperands> output_room_;
  SmallArray<KernelView, kFewOperands> view_room_;
  SmallArray<DLTensor, kFewOperands> dl_room_;
  Batch batch_;
};

/// The first kernel that takes the call. Declines are kept, the first illegal one above all.
class Choice {
 public:
  Choice(KernelCall& kernel_call, const mote_call& call) : kernel_call_(kernel_call), call_(call) {}

  const mote_kernel* kernel = nullptr;
  mote_status status = MOTE_UNSUPPORTED;
  std::array<char, 512> reason{};

  void ask(const mote_kernel& candidate) {
    if (kernel != nullptr || std::strcmp(candidate.op, call_.op) != 0) return;
    kernel_call_.message.front() = '\0';
    const mote_status answer = ask_kernel(candidate, call_);
    if (answer == MOTE_OK) {
      kernel = &candidate;
    } else if (reason.front() == '\0' || (answer == MOTE_INVALID && status != MOTE_INVALID)) {
      status = answer;
      reason = kernel_call_.message;
    }
  }

 private:
  KernelCall& kernel_call_;
  const mote_call& call_;
};

/// Where an input and an output are one view, the kernel promises that it may overwrite it.
bool keeps_pairs(const mote_contract& contract, const CallTensors& tensors) {
  for (std::size_t n = 0; n < tensors.operands.size(); ++n)
    for (std::size_t m = 0; m < n; ++m) {
      const Operand& x = tensors.operands[m];
      const Operand& y = tensors.operands[n];
      const bool pair = y.is_output && !x.is_output && x.tensor->data() == y.tensor->data();
      if (pair && !promises_in_place(contract, tensors.slots[m], tensors.slots[n])) return false;
    }
  return true;
}

void ask_all(Choice& choice, const Command& command, const CallTensors& tensors,
             const RunOptions& options) {
  for (const mote_backend* backend : options.backends)
    for (std::int32_t k = 0; k < backend->kernel_count; ++k) {
      const mote_kernel& kernel = kernel_at(*backend, k);
      if (ignores_nan(*kernel.contract) && !options.without_nan) continue;
      if (!tensors.in_place || keeps_pairs(*kernel.contract, tensors)) choice.ask(kernel);
    }
  for (const GeneratedKernel& k : command.generated()) {
    if (k.dtype != tensors.instance || k.input_mask != tensors.input_mask) continue;
    if (k.fast != nullptr) choice.ask(*k.fast);
    choice.ask(*k.oracle);
  }
}

[[noreturn]] void fail(const Command& command, mote_status status, const char* reason) {
  std::string text = *reason != '\0' ? reason : "the kernel gives no reason";
  const std::string prefix = std::string(command.definition().name) + ": ";
  if (!text.starts_with(prefix)) text.insert(0, prefix);
  throw StatusError(status, text);
}

/// The generated kernels of the op are none for this dtype or choice of inputs.
[[noreturn]] void fail_without_kernel(const Command& command, const CallTensors& tensors) {
  fail(command, MOTE_UNSUPPORTED,
       ("no kernel for " + std::string(name(tensors.instance)) + describe_call(command, tensors))
           .c_str());
}

}  // namespace

void run(const Command& command, std::span<const Tensor* const> inputs,
         std::span<Tensor* const> outputs, const RunOptions& options) {
  SmallArray<Operand, kFewOperands> operands(inputs.size() + outputs.size());
  SmallArray<int, kFewOperands> slots(inputs.size() + outputs.size());
  const CallTensors tensors = check_call(command, inputs, outputs, operands.get(), slots.get());
  KernelCall kernel_call(command, tensors);
  mote_call call = kernel_call.get();

  Choice choice(kernel_call, call);
  ask_all(choice, command, tensors, options);
  if (choice.kernel == nullptr) {
    if (choice.reason.front() == '\0') fail_without_kernel(command, tensors);
    fail(command, choice.status, choice.reason.data());
  }
  std::optional<Tensor> workspace;
  if (choice.kernel->workspace_bytes != nullptr) {
    const mote_status fits = workspace_of(*choice.kernel, call, call.workspace_bytes);
    if (fits != MOTE_OK) fail(command, fits, kernel_call.message.data());
    if (call.workspace_bytes > 0) {
      workspace.emplace(DType::u8, AxisList{static_cast<std::int64_t>(call.workspace_bytes)});
      call.workspace = workspace->data();
    }
  }
  kernel_call.message.front() = '\0';
  const mote_status status =
      kernel_call.each_round([&] { return run_kernel(*choice.kernel, call, options.stream); });
  if (status != MOTE_OK) fail(command, status, kernel_call.message.data());
}

void run(const Command& command, std::initializer_list<const Tensor*> inputs,
         std::initializer_list<Tensor*> outputs, const RunOptions& options) {
  run(command, std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()),
      options);
}

}  // namespace mote
