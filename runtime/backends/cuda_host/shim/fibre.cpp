// SPDX-License-Identifier: Apache-2.0
// Switches between fibres, and tells the sanitizers about it.
#include "fibre.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#include "sanitize.h"

#if defined(__SANITIZE_ADDRESS__)
#define MOTE_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#define MOTE_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#if defined(__x86_64__)
#define MOTE_OWN_SWITCH
// void mote_fibre_switch(void** from, void* to): keeps the registers that a call keeps by the ABI.
extern "C" void mote_fibre_switch(void** from, void* to);
asm(R"(
.text
.hidden mote_fibre_switch
.globl mote_fibre_switch
.type mote_fibre_switch, @function
mote_fibre_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size mote_fibre_switch, . - mote_fibre_switch
)");
#endif

namespace mote::shim {
namespace {

/// The fibre that runs on this OS thread.
thread_local Fibre* running = nullptr;

std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

struct Fibre::Context {
  void* stack_pointer = nullptr;  ///< the stack pointer at its last leave()
  void* outside = nullptr;        ///< the caller of resume()
  ucontext_t own{};
  ucontext_t caller{};
#if defined(MOTE_ASAN)
  void* fake_stack = nullptr;
  void* fake_outside = nullptr;
  const void* outside_memory = nullptr;
  std::size_t outside_bytes = 0;
#elif defined(MOTE_TSAN)
  void* thread = nullptr;
  void* outside_thread = nullptr;
#endif
};

Engine best_engine() {
#if defined(MOTE_OWN_SWITCH)
  return Engine::own;
#else
  return Engine::ucontext;
#endif
}

Fibre::Fibre(Engine engine, std::size_t stack_bytes)
    : engine_(engine), bytes_(stack_bytes), context_(std::make_unique<Context>()) {
  void* memory = mmap(nullptr, bytes_ + page(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, page(), PROT_NONE);
  memory_ = static_cast<char*>(memory) + page();
}

Fibre::~Fibre() {
#if defined(MOTE_ASAN)
  __asan_unpoison_memory_region(memory_, bytes_);  // later mappings at this address are no stack
#elif defined(MOTE_TSAN)
  if (context_->thread != nullptr) __tsan_destroy_fiber(context_->thread);
#endif
  munmap(memory_ - page(), bytes_ + page());
}

void Fibre::start(Entry entry, void* argument) {
  entry_ = entry;
  argument_ = argument;
#if defined(MOTE_ASAN)
  __asan_unpoison_memory_region(memory_, bytes_);  // clears the marks of abandoned frames
#elif defined(MOTE_TSAN)
  if (context_->thread != nullptr) __tsan_destroy_fiber(context_->thread);
  context_->thread = __tsan_create_fiber(0);
#endif
#if defined(MOTE_OWN_SWITCH)
  if (engine_ == Engine::own) {
    auto* top = reinterpret_cast<std::uintptr_t*>(memory_ + bytes_);
    *--top = 0;  // begin() expects the stack as after a call
    *--top = reinterpret_cast<std::uintptr_t>(&Fibre::begin);
    for (int k = 0; k < 6; ++k) *--top = 0;
    context_->stack_pointer = top;
    return;
  }
#endif
  getcontext(&context_->own);
  context_->own.uc_stack.ss_sp = memory_;
  context_->own.uc_stack.ss_size = bytes_;
  context_->own.uc_link = nullptr;
  makecontext(&context_->own, &Fibre::begin, 0);
}

void Fibre::begin() { running->enter(); }

void Fibre::enter() {
#if defined(MOTE_ASAN)
  __sanitizer_finish_switch_fiber(nullptr, &context_->outside_memory, &context_->outside_bytes);
#endif
  entry_(argument_);
  __builtin_trap();  // the entry ends in leave()
}

void Fibre::resume() {
  running = this;
#if defined(MOTE_ASAN)
  __sanitizer_start_switch_fiber(&context_->fake_outside, memory_, bytes_);
#elif defined(MOTE_TSAN)
  context_->outside_thread = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(context_->thread, __tsan_switch_to_fiber_no_sync);
#endif
#if defined(MOTE_OWN_SWITCH)
  if (engine_ == Engine::own)
    mote_fibre_switch(&context_->outside, context_->stack_pointer);
  else
#endif
    swapcontext(&context_->caller, &context_->own);
#if defined(MOTE_ASAN)
  __sanitizer_finish_switch_fiber(context_->fake_outside, nullptr, nullptr);
#endif
  running = nullptr;
}

void Fibre::leave([[maybe_unused]] bool done) {
#if defined(MOTE_ASAN)
  __sanitizer_start_switch_fiber(done ? nullptr : &context_->fake_stack, context_->outside_memory,
                                 context_->outside_bytes);
#elif defined(MOTE_TSAN)
  void* const outside = context_->outside_thread;
  has_come(&fibres_left);  // the last action of this fibre
  __tsan_switch_to_fiber(outside, __tsan_switch_to_fiber_no_sync);
#endif
#if defined(MOTE_OWN_SWITCH)
  if (engine_ == Engine::own)
    mote_fibre_switch(&context_->stack_pointer, context_->outside);
  else
#endif
    swapcontext(&context_->own, &context_->caller);
#if defined(MOTE_ASAN)
  __sanitizer_finish_switch_fiber(context_->fake_stack, &context_->outside_memory,
                                  &context_->outside_bytes);
#endif
}

}  // namespace mote::shim
