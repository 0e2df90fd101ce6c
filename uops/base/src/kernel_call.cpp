// SPDX-License-Identifier: Apache-2.0
// Guards the calls into a kernel against exceptions, unknown statuses and messages without an end.
#include "mote/base/kernel_call.h"

#include <cxxabi.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <typeinfo>

namespace mote {
namespace {

/// Writes the message without allocating memory: there may be none.
void set_message(const mote_call& call, const char* text, const char* more = "") {
  if (call.message == nullptr || call.message_bytes == 0) return;
  std::snprintf(call.message, call.message_bytes, "%s%s", text, more);
}

void end_message(const mote_call& call) {
  if (call.message != nullptr && call.message_bytes > 0)
    call.message[call.message_bytes - 1] = '\0';
}

/// Writes the type of the exception that is being handled, as C++ writes it; this allocates memory.
[[gnu::cold, gnu::noinline]] void set_type_of_exception(const mote_call& call) {
  const char* text = "the kernel threw an exception of type ";
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (type == nullptr) return set_message(call, text, "unknown");  // thrown by another language
  int status = 0;
  char* name = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
  set_message(call, text, name != nullptr ? name : type->name());
  std::free(name);
}

/// A function of its own, so that a successful call needs no stack space for the digits.
[[gnu::cold, gnu::noinline]] mote_status unknown(const mote_call& call, int number) {
  std::array<char, 16> digits{};
  std::snprintf(digits.data(), digits.size(), "%d", number);
  set_message(call, "the kernel returned the unknown status ", digits.data());
  return MOTE_FAILED;
}

mote_status known(const mote_call& call, mote_status status) {
  end_message(call);
  const auto number = static_cast<int>(status);
  if (number >= MOTE_OK && number <= MOTE_FAILED) [[likely]]
    return status;
  return unknown(call, number);
}

template <typename Body>
mote_status guarded(const mote_call& call, const Body& body) {
  try {
    return known(call, body());
  } catch (const std::bad_alloc&) {
    set_message(call, "the kernel ran out of memory");
    return MOTE_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    set_message(call, "the kernel threw an exception: ", error.what());
  } catch (...) {
    set_type_of_exception(call);
  }
  return MOTE_FAILED;
}

bool reaches(const mote_contract& contract, std::size_t offset) {
  return contract.size >= offset + sizeof(void*);
}

}  // namespace

mote_status ask_kernel(const mote_kernel& kernel, const mote_call& call) {
  return guarded(call, [&] { return kernel.can_run(&call); });
}

mote_status workspace_of(const mote_kernel& kernel, const mote_call& call, std::size_t& bytes) {
  bytes = 0;
  if (kernel.workspace_bytes == nullptr) return MOTE_OK;
  return guarded(call, [&] {
    bytes = kernel.workspace_bytes(&call);
    if (bytes <= PTRDIFF_MAX) return MOTE_OK;
    set_message(call, "a kernel asks for more workspace than there can be");
    return MOTE_FAILED;
  });
}

mote_status run_kernel(const mote_kernel& kernel, const mote_call& call, void* stream) {
  return run_kernel(kernel.run, call, stream);
}

KernelRun checked_run_of(const mote_kernel& kernel) {
  constexpr std::size_t kEnd = offsetof(mote_kernel, run_checked) + sizeof kernel.run_checked;
  return kernel.size >= kEnd && kernel.run_checked != nullptr ? kernel.run_checked : kernel.run;
}

mote_status run_kernel(KernelRun run, const mote_call& call, void* stream) {
  return guarded(call, [&] { return run(&call, stream); });
}

mote_status run_accepted(const mote_kernel& kernel, const mote_call& call) {
  const KernelRun run = checked_run_of(kernel);
  if (run == kernel.run || ask_kernel(kernel, call) != MOTE_OK)
    return run_kernel(kernel.run, call, nullptr);
  return run_kernel(run, call, nullptr);
}

bool promises_in_place(const mote_contract& contract, int input, int output) {
  if (!reaches(contract, offsetof(mote_contract, in_place))) return false;
  if (contract.in_place_count == MOTE_IN_PLACE_ALL) return true;
  for (int k = 0; k < contract.in_place_count; ++k)
    if (contract.in_place[k].input == input && contract.in_place[k].output == output) return true;
  return false;
}

bool ignores_nan(const mote_contract& contract) {
  constexpr std::size_t kEnd = offsetof(mote_contract, ignores_nan) + sizeof contract.ignores_nan;
  return contract.size >= kEnd && contract.ignores_nan != 0;
}

int indices_of(const mote_contract& contract) {
  constexpr std::size_t kEnd = offsetof(mote_contract, indices) + sizeof contract.indices;
  return contract.size >= kEnd ? contract.indices : MOTE_INDICES_ANY;
}

std::span<const mote_accuracy> accuracies_of(const mote_contract& contract) {
  if (!reaches(contract, offsetof(mote_contract, functions))) return {};
  return {contract.functions, static_cast<std::size_t>(contract.function_count)};
}

}  // namespace mote
