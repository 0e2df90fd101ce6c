// SPDX-License-Identifier: Apache-2.0
// Makes plans. A call without memory gets addresses that are made up: far enough apart, at
// multiples of kAlignment, and equal where an output is in place of an input. From there on it is
// checked, fitted and offered to kernels like any other.
#include "mote/runtime/kernel_plan.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "command/plan_state.h"
#include "mote/runtime/status.h"
#include "tensor/described.h"
#include "tensor/view.h"

namespace mote {
namespace {

/// The part of an address that counts for a kernel's choice.
std::uintptr_t residue(const DLTensor& x) { return address_of(x) % kAlignment; }

/// Addresses for tensors that have no memory.
class MadeUp {
 public:
  explicit MadeUp(const Command& command) : command_(command) {}

  void place(const TensorForm& form, DLTensor& tensor) {
    std::uint64_t before = 0;  // the bytes below the first element
    const auto size = static_cast<std::int64_t>(size_of(form.dtype));
    const auto bytes = static_cast<std::uint64_t>(form.bytes());
    for (int axis = 0; axis < form.rank() && bytes > 0; ++axis)
      if (form.strides[axis] < 0)
        before += static_cast<std::uint64_t>((form.shape[axis] - 1) * -form.strides[axis] * size);
    constexpr std::uint64_t kEnd = std::uint64_t{1} << 63U;
    if (bytes + 2 * kAlignment > kEnd - next_)
      fail_call(command_, MOTE_INVALID, "its tensors are beyond 2^63-1 bytes together");
    const std::uint64_t first = rounded(next_ + before);
    tensor.data = reinterpret_cast<void*>(first);  // NOLINT: no memory is meant
    next_ = rounded(first - before + bytes + 1);
  }

 private:
  static std::uint64_t rounded(std::uint64_t address) {
    return (address + kAlignment - 1) / kAlignment * kAlignment;
  }

  const Command& command_;
  std::uint64_t next_ = std::uint64_t{1} << 20U;
};

/// Returns the form at that position, or throws.
std::size_t given(const Command& command, std::span<const TensorForm* const> forms, int k,
                  const char* what) {
  const auto at = static_cast<std::size_t>(k);
  if (k >= 0 && at < forms.size() && forms[at] != nullptr) return at;
  fail_call(command, MOTE_INVALID,
            ("in place: " + std::string(what) + " " + std::to_string(k) + " is not there").c_str());
}

void place_all(const Command& command, std::span<const TensorForm* const> inputs,
               std::span<const TensorForm* const> outputs, std::span<const mote_op_pair> pairs,
               DescribedTensors& in, DescribedTensors& out) {
  MadeUp made_up(command);
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k] != nullptr) made_up.place(*inputs[k], in[k]);
  for (const auto& [input, output] : pairs) {
    DLTensor& x = in[given(command, inputs, input, "input")];
    DLTensor& y = out[given(command, outputs, output, "output")];
    (y.data == nullptr ? y : x).data = (y.data == nullptr ? x : y).data;
  }
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (outputs[k] != nullptr && out[k].data == nullptr) made_up.place(*outputs[k], out[k]);
}

/// Returns the pairs of operands that share memory, as inputs and outputs of the op.
std::vector<mote_op_pair> shared(const CallTensors& call) {
  std::vector<mote_op_pair> pairs;
  for (std::size_t n = 0; n < call.operands.size() && call.in_place; ++n)
    for (std::size_t m = 0; m < n && call.operands[n].is_output; ++m)
      if (!call.operands[m].is_output &&
          overlap(*call.operands[m].tensor, *call.operands[n].tensor))
        pairs.push_back({call.slots[m], call.slots[n]});
  return pairs;
}

}  // namespace

KernelPlan::State::State(const Command& c, TensorList inputs, TensorList outputs,
                         const RunOptions& options)
    : command(c),
      context(options.context),
      operands(inputs.size() + outputs.size()),
      slots(operands.size()),
      call(check_call(command, inputs, outputs, operands, slots)),
      operand_at(operands.size(), -1),
      in_place(shared(call)),
      views(call.operands.size()) {
  const std::size_t count = call.operands.size();
  std::vector<AxisStrides> scratch(count);
  fitted = fit_call(command, call, views, scratch);
  std::vector<const DLTensor*> input_room(inputs.size());
  std::vector<DLTensor*> output_room(outputs.size());
  std::vector<DLTensor> dl(count);
  KernelCall asked(command, call, fitted, {.inputs = input_room, .outputs = output_room, .dl = dl});
  chosen = choose_kernel(command, call, asked, options);
  run = asked.run_of(*chosen.kernel);
  is_plain = chosen.workspace_bytes == 0 && !call.device;

  forms.reserve(count);
  described.reserve(count);
  for (std::size_t n = 0; n < count; ++n) {
    const std::uintptr_t at = residue(*operands[n].tensor);
    forms.push_back(form_of(*operands[n].tensor));
    described.push_back(mote::described(forms[n]));
    described[n].data = reinterpret_cast<void*>(at);  // NOLINT: no memory is meant
    operands[n].tensor = &described[n];
    const std::size_t slot = static_cast<std::size_t>(slots[n]);
    operand_at[operands[n].is_output ? inputs.size() + slot : slot] = static_cast<int>(n);
  }
}

std::shared_ptr<const KernelPlan> KernelPlan::State::plan(const Command& command, TensorList inputs,
                                                          TensorList outputs,
                                                          const RunOptions& options) {
  auto state = std::make_unique<const State>(command, inputs, outputs, options);
  return std::shared_ptr<const KernelPlan>(new KernelPlan(std::move(state)));
}

const TensorForm* KernelPlan::State::form(int k, bool is_output) const {
  const std::size_t count = is_output ? call.output_count : call.input_count;
  if (k < 0 || static_cast<std::size_t>(k) >= count) return nullptr;
  const int n = operand_of(static_cast<std::size_t>(k) + (is_output ? call.input_count : 0));
  return n >= 0 ? &forms[static_cast<std::size_t>(n)] : nullptr;
}

KernelPlan::KernelPlan(std::unique_ptr<const State> state) : state_(std::move(state)) {}
KernelPlan::~KernelPlan() = default;

std::shared_ptr<const KernelPlan> KernelPlan::make(const Command& command,
                                                   std::span<const TensorForm* const> inputs,
                                                   std::span<const TensorForm* const> outputs,
                                                   std::span<const mote_op_pair> in_place,
                                                   const RunOptions& options) {
  DescribedTensors in(inputs);
  DescribedTensors out(outputs);
  place_all(command, inputs, outputs, in_place, in, out);
  return State::plan(command, in.list(), out.list(), options);
}

std::shared_ptr<const KernelPlan> KernelPlan::make(const Command& command,
                                                   std::initializer_list<const TensorForm*> inputs,
                                                   std::initializer_list<const TensorForm*> outputs,
                                                   std::initializer_list<mote_op_pair> in_place,
                                                   const RunOptions& options) {
  return make(command, std::span(inputs.begin(), inputs.size()),
              std::span(outputs.begin(), outputs.size()),
              std::span(in_place.begin(), in_place.size()), options);
}

std::shared_ptr<const KernelPlan> KernelPlan::make(const Command& command,
                                                   std::span<const Tensor* const> inputs,
                                                   std::span<Tensor* const> outputs,
                                                   const RunOptions& options) {
  std::vector<const DLTensor*> given(inputs.size() + outputs.size());
  list_tensors(inputs, outputs, given);
  return State::plan(command, std::span(given).first(inputs.size()),
                     std::span(given).subspan(inputs.size()), options);
}

const Command& KernelPlan::command() const { return state_->command; }
const mote_kernel& KernelPlan::kernel() const { return *state_->chosen.kernel; }
std::size_t KernelPlan::workspace_bytes() const { return state_->chosen.workspace_bytes; }
std::optional<Device> KernelPlan::device() const { return state_->call.device; }
int KernelPlan::input_count() const { return static_cast<int>(state_->call.input_count); }
int KernelPlan::output_count() const { return static_cast<int>(state_->call.output_count); }
const TensorForm* KernelPlan::input(int k) const { return state_->form(k, false); }
const TensorForm* KernelPlan::output(int k) const { return state_->form(k, true); }

bool KernelPlan::is_in_place(int input, int output) const {
  return std::ranges::any_of(state_->in_place, [&](const mote_op_pair& pair) {
    return pair.input == input && pair.output == output;
  });
}

}  // namespace mote
