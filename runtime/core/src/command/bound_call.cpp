// SPDX-License-Identifier: Apache-2.0
// A bound call is one block of memory: the kernel's call, and behind it its tensors and the lists
// of pointers to them. Extents and strides are the plan's.
#include "mote/runtime/bound_call.h"

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "command/call_workspace.h"
#include "command/plan_state.h"
#include "mote/base/dlpack.h"
#include "mote/runtime/status.h"
#include "tensor/view.h"

namespace mote {

struct BoundCall::Block {
  Block(const KernelPlan::State& plan, const CallRoom& room)
      : call(plan.command, plan.call, plan.fitted, room), run(plan.run), is_plain(plan.is_plain) {}

  static std::size_t bytes(const KernelPlan::State& plan) {
    return sizeof(Block) + plan.call.operands.size() * sizeof(DLTensor) +
           (plan.call.input_count + plan.call.output_count) * sizeof(void*);
  }
  static Block* make(const KernelPlan::State& plan) {
    static_assert(alignof(Block) >= alignof(DLTensor) && alignof(DLTensor) >= alignof(void*) &&
                  sizeof(Block) % alignof(DLTensor) == 0);
    auto* memory = static_cast<std::byte*>(::operator new(bytes(plan)));
    auto* const tensors = reinterpret_cast<DLTensor*>(memory + sizeof(Block));
    const std::size_t count = plan.call.operands.size();
    std::uninitialized_value_construct_n(tensors, count);
    auto** const pointers = reinterpret_cast<DLTensor**>(tensors + count);
    auto** const inputs = const_cast<const DLTensor**>(pointers);
    auto** const outputs = pointers + plan.call.input_count;
    return new (memory) Block(plan, {.inputs = {inputs, plan.call.input_count},
                                     .outputs = {outputs, plan.call.output_count},
                                     .dl = {tensors, count}});
  }
  static void destroy(Block* block) noexcept {
    if (block == nullptr) return;
    block->~Block();
    ::operator delete(block);
  }

  KernelCall call;
  KernelRun run;
  bool is_plain;
  bool is_checked = false;
};

namespace {

[[noreturn, gnu::cold, gnu::noinline]] void fail_moved_call() {
  throw StatusError(MOTE_INVALID, "bound call: it was moved to another one");
}

/// True for what a plan has in place of an address: its part below kAlignment.
bool is_unbound(const DLTensor& x) { return reinterpret_cast<std::uintptr_t>(x.data) < kAlignment; }

std::uintptr_t residue_of(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % kAlignment;
}

const KernelPlan& plan_of(const std::shared_ptr<const KernelPlan>& plan) {
  if (plan == nullptr) throw StatusError(MOTE_INVALID, "bound call: the plan is null");
  return *plan;
}

}  // namespace

BoundCall::BoundCall(std::shared_ptr<const KernelPlan> plan)
    : plan_(std::move(plan)), block_(Block::make(*plan_of(plan_).state_)) {}

BoundCall::BoundCall(BoundCall&& other) noexcept
    : plan_(std::move(other.plan_)), block_(std::exchange(other.block_, nullptr)) {}

BoundCall& BoundCall::operator=(BoundCall&& other) noexcept {
  BoundCall taken(std::move(other));
  std::swap(plan_, taken.plan_);
  std::swap(block_, taken.block_);
  return *this;
}

BoundCall::~BoundCall() { Block::destroy(block_); }

inline BoundCall::Block& BoundCall::block() const {
  if (block_ == nullptr) [[unlikely]]
    fail_moved_call();
  return *block_;
}

const KernelPlan& BoundCall::plan() const {
  block();
  return *plan_;
}

void BoundCall::bind(int operand, void* data) {
  DLTensor& x = block().call.tensors()[static_cast<std::size_t>(operand)];
  if (residue_of(data) != residue_of(x.data) || data == nullptr) block_->is_checked = false;
  x.data = data;
}

void BoundCall::bind_input(int k, const void* data) {
  const KernelPlan::State& plan = *this->plan().state_;
  const int n = plan.form(k, false) != nullptr ? plan.operand_of(static_cast<std::size_t>(k)) : -1;
  if (n < 0) [[unlikely]]
    fail_call(plan.command, MOTE_INVALID,
              ("input " + std::to_string(k) + " is not in the plan").c_str());
  bind(n, const_cast<void*>(data));  // the kernel takes it as const again
}

void BoundCall::bind_output(int k, void* data) {
  const KernelPlan::State& plan = *this->plan().state_;
  const bool is_there = plan.form(k, true) != nullptr;
  if (!is_there) [[unlikely]]
    fail_call(plan.command, MOTE_INVALID,
              ("output " + std::to_string(k) + " is not in the plan").c_str());
  bind(plan.operand_of(plan.call.input_count + static_cast<std::size_t>(k)), data);
}

void BoundCall::check() {
  Block& b = block();
  const KernelPlan::State& plan = *plan_->state_;
  const std::span<DLTensor> tensors = b.call.tensors();
  bool as_planned = true;
  for (std::size_t n = 0; n < tensors.size(); ++n) {
    DLTensor& x = tensors[n];
    const bool is_empty = element_count(plan.described[n]) == 0;
    if (is_unbound(x) && !is_empty)
      fail_call(plan.command, MOTE_INVALID,
                (std::string(plan.operands[n].meaning->name) + " has no data").c_str());
    if (is_unbound(x)) continue;
    as_planned &= residue_of(x.data) == residue_of(plan.described[n].data);
  }
  CallMessage message;
  b.call.listen(message);
  if (!as_planned && b.call.can_run(*plan.chosen.kernel) != MOTE_OK)
    fail_call(plan.command, MOTE_UNSUPPORTED,
              (std::string("the kernel declines these tensors: ") + message.data()).c_str());
  b.is_checked = true;
}

void BoundCall::run() {
  Block& b = block();
  if (!b.is_plain || !b.is_checked) [[unlikely]]
    return run_slowly(nullptr, {});
  CallMessage message;
  b.call.listen(message);
  const mote_status status = b.call.run(b.run, nullptr);
  if (status != MOTE_OK) [[unlikely]]
    fail_call(plan_->command(), status, message.data());
}

void BoundCall::run_in(void* stream, std::span<std::byte> workspace) {
  block();
  run_slowly(stream, workspace);
}

/// Runs in every case: checks what is bound, and finds workspace.
void BoundCall::run_slowly(void* stream, std::span<std::byte> workspace) {
  Block& b = *block_;
  if (!b.is_checked) check();
  const KernelPlan::State& plan = *plan_->state_;
  RunOptions with;
  with.stream = stream;
  with.workspace = workspace;
  with.context = plan.context;
  CallMessage message;
  b.call.listen(message);
  CallWorkspace room(plan.chosen.workspace_bytes, with, plan.call.device);
  b.call.call().workspace = room.data();
  b.call.call().workspace_bytes = plan.chosen.workspace_bytes;
  const mote_status status = room.outcome(b.call.run(b.run, stream), b.call.call());
  b.call.call().workspace = nullptr;
  if (status != MOTE_OK) fail_call(plan.command, status, message.data());
}

}  // namespace mote
