// SPDX-License-Identifier: Apache-2.0
// Loads a shared library that offers backends and checks every struct that it hands over, so that
// no later code has to. It reads only members that kernel.h promises: arrays are stepped by the
// size that the plug-in gives its own elements, which a later version may have made larger.
#include "mote/base/plugin.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "mote/base/error.h"
#include "mote/base/kernel_call.h"

namespace mote {
namespace {

[[noreturn]] void refuse(const std::string& owner, const std::string& reason) {
  throw Error(owner + ": " + reason);
}
[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  refuse("plug-in " + path, reason);
}

/// Returns element `index` of an array whose elements have the size that the first one states.
template <typename T>
const T* element(const T* array, std::int32_t index) {
  const auto* bytes = reinterpret_cast<const char*>(array);
  return reinterpret_cast<const T*>(bytes + array->size * static_cast<std::size_t>(index));
}

/// Returns the error of dlopen or dlsym, without the path, which our own message names anyway.
std::string loader_reason(const std::string& path) {
  const char* text = dlerror();
  std::string reason = text != nullptr ? text : "the loader gives no reason";
  const std::string prefix = path + ": ";
  if (reason.starts_with(prefix)) reason.erase(0, prefix.size());
  return reason;
}

std::shared_ptr<void> open_library(const std::string& path) {
  // A name without a slash would be searched for in the system's folders instead of here.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) fail(path, loader_reason(file));
  return {handle, [](void* library) { dlclose(library); }};
}

template <typename T>
void check_size(const std::string& owner, const std::string& what, const T& value) {
  constexpr std::size_t kLeast =
      std::is_same_v<T, mote_kernel> ? MOTE_KERNEL_LEAST_SIZE : sizeof(T);
  if (value.size < kLeast)
    refuse(owner, what + " has size " + std::to_string(value.size) + ", expected at least " +
                      std::to_string(kLeast));
}

template <typename T>
bool is_list(const T* list, std::int32_t count) {
  return count == 0 || (count > 0 && list != nullptr);
}

void check_flag(const std::string& owner, const std::string& what, const char* name, int value) {
  if (value != 0 && value != 1)
    refuse(owner, what + "has a contract with " + name + " " + std::to_string(value) +
                      ", expected 0 or 1");
}

/// Refuses numbers that have no meaning in kernel.h.
void check_numbers(const std::string& owner, const std::string& what, const mote_contract& c) {
  constexpr int kMaxBits = 53;  // a double has no more
  constexpr int kAllIndices = MOTE_INDICES_VALID | MOTE_INDICES_NOT_NEGATIVE;
  const std::string has = what + "has a contract with ";
  if (c.accumulator < MOTE_ACC_NATIVE || c.accumulator > MOTE_ACC_F64)
    refuse(owner, has + "accumulator " + std::to_string(c.accumulator) +
                      ", expected 0 (native), 1 (f32) or 2 (f64)");
  if (c.multiply_rounding < 0 || c.multiply_rounding > kMaxBits)
    refuse(owner, has + "multiply_rounding " + std::to_string(c.multiply_rounding) +
                      ", expected bits from 0 to " + std::to_string(kMaxBits));
  check_flag(owner, what, "flushes_denormals", c.flushes_denormals);
  check_flag(owner, what, "deterministic", c.deterministic);
  if (c.size >= offsetof(mote_contract, ignores_nan) + sizeof c.ignores_nan)
    check_flag(owner, what, "ignores_nan", c.ignores_nan);
  if ((indices_of(c) & ~kAllIndices) != 0)
    refuse(owner, has + "indices " + std::to_string(indices_of(c)) +
                      ", expected 1 (valid), 2 (not negative), both or 0");
}

void check_accuracy(const std::string& owner, const std::string& what, const mote_accuracy& f) {
  if (f.function == nullptr) refuse(owner, what + "has a contract with a function without a name");
  for (const double error : {f.ulp, f.arg, f.abs})
    if (!(error >= 0) || std::isinf(error))
      refuse(owner, what + "has a contract in which " + f.function + " is off by " +
                        std::to_string(error) + ", expected a finite number that is not negative");
}

void check_promises(const std::string& owner, const std::string& what, const mote_contract& c) {
  if (c.size >= offsetof(mote_contract, functions) + sizeof(const void*)) {
    if (!is_list(c.functions, c.function_count))
      refuse(owner, what + "has a contract with " + std::to_string(c.function_count) +
                        " functions, but no list of them");
    for (const mote_accuracy& f : accuracies_of(c)) check_accuracy(owner, what, f);
  }
  if (c.size < offsetof(mote_contract, in_place) + sizeof(const void*) ||
      c.in_place_count == MOTE_IN_PLACE_ALL)
    return;
  if (!is_list(c.in_place, c.in_place_count))
    refuse(owner, what + "has a contract with " + std::to_string(c.in_place_count) +
                      " in-place pairs, but no list of them");
  for (std::int32_t k = 0; k < c.in_place_count; ++k)
    if (c.in_place[k].input < 0 || c.in_place[k].output < 0)
      refuse(owner, what + "has a contract in which input " + std::to_string(c.in_place[k].input) +
                        " and output " + std::to_string(c.in_place[k].output) +
                        " share memory: expected positions from 0 on");
}

/// Checks a contract, which may end before function_count.
void check_contract(const std::string& owner, const std::string& what,
                    const mote_contract& contract) {
  constexpr std::size_t kLeast = offsetof(mote_contract, function_count);
  if (contract.size < kLeast)
    refuse(owner, what + "has a contract that has size " + std::to_string(contract.size) +
                      ", expected at least " + std::to_string(kLeast));
  if (contract.form == nullptr) refuse(owner, what + "has a contract without a form");
  check_numbers(owner, what, contract);
  check_promises(owner, what, contract);
}

template <typename T>
void check_array(const std::string& owner, const std::string& what, const T* array,
                 std::int32_t count) {
  if (count < 1 || array == nullptr) refuse(owner, what + " is empty");
  check_size(owner, "an element of " + what, *array);
}

void check_kernel(const std::string& owner, const std::string& backend, const mote_kernel& kernel) {
  const std::string where = "backend " + backend + ": ";
  check_size(owner, where + "a kernel", kernel);
  if (kernel.op == nullptr) refuse(owner, where + "a kernel has no op");
  const std::string what = where + "the kernel of " + kernel.op + " ";
  if (kernel.contract == nullptr) refuse(owner, what + "has no contract");
  check_contract(owner, what, *kernel.contract);
  if (kernel.can_run == nullptr) refuse(owner, what + "has no can_run");
  if (kernel.run == nullptr) refuse(owner, what + "has no run");
}

void check_device(const std::string& owner, const mote_device& d) {
  if (d.name == nullptr || *d.name == '\0') refuse(owner, "a device has no name");
  const bool all = d.ready != nullptr && d.allocate != nullptr && d.release != nullptr &&
                   d.copy != nullptr && d.create_stream != nullptr && d.destroy_stream != nullptr &&
                   d.synchronize != nullptr && d.create_event != nullptr &&
                   d.destroy_event != nullptr && d.record != nullptr && d.wait != nullptr &&
                   d.synchronize_event != nullptr && d.is_over != nullptr;
  if (!all) refuse(owner, std::string("device ") + d.name + " lacks a function");
  if (d.device.device_type == kDLCPU || d.device.device_id < 0)
    refuse(owner, std::string("device ") + d.name + " is the host, or has a negative number");
}

/// Returns the status that the plug-in's function gives; an exception that it lets out is a defect
/// of the plug-in.
template <typename Call>
mote_status answer_of(const std::string& path, const std::string& function, const Call& call) {
  try {
    return call();
  } catch (const std::exception& error) {
    fail(path, function + " threw an exception: " + error.what());
  } catch (...) {
    fail(path, function + " threw an exception of an unknown type");
  }
}

/// Returns the reason of one kernel that declined, with the status in front if the call is illegal.
std::string declined(mote_status status, const char* message) {
  std::string text = *message != '\0' ? message : "no reason given";
  if (status == MOTE_INVALID) text.insert(0, "not a legal call: ");
  return text;
}

}  // namespace

void check_backend(const std::string& owner, const mote_backend& backend) {
  check_size(owner, "a backend", backend);
  if (backend.name == nullptr || *backend.name == '\0') refuse(owner, "a backend has no name");
  const std::string name = backend.name;
  if (backend.version == nullptr) refuse(owner, "backend " + name + " has no version");
  check_array(owner, "the kernel table of backend " + name, backend.kernels, backend.kernel_count);
  for (std::int32_t k = 0; k < backend.kernel_count; ++k)
    check_kernel(owner, name, *element(backend.kernels, k));
}

Plugin load_plugin(const std::string& path) {
  Plugin plugin{.path = path, .backends = {}, .library = open_library(path)};
  void* symbol = dlsym(plugin.library.get(), "mote_plugin_init");
  if (symbol == nullptr) fail(path, "not a mote plug-in: it exports no mote_plugin_init");
  const auto init = reinterpret_cast<mote_plugin_init_fn>(symbol);

  mote_plugin table{.size = sizeof(mote_plugin),
                    .abi_version = MOTE_ABI_VERSION,
                    .backend_count = 0,
                    .backends = nullptr};
  const mote_status status = answer_of(path, "mote_plugin_init", [&] { return init(&table); });
  if (table.abi_version != MOTE_ABI_VERSION)
    fail(path, "has ABI version " + std::to_string(table.abi_version) + ", expected " +
                   std::to_string(MOTE_ABI_VERSION));
  if (status != MOTE_OK)
    fail(path, "mote_plugin_init failed with status " + std::to_string(status));
  const std::string owner = "plug-in " + path;
  check_size(owner, "the plug-in's table", table);
  check_array(owner, "its backend table", table.backends, table.backend_count);
  for (std::int32_t b = 0; b < table.backend_count; ++b) {
    const mote_backend* backend = element(table.backends, b);
    check_backend(owner, *backend);
    plugin.backends.push_back(backend);
  }
  return plugin;
}

std::vector<const mote_device*> devices_of(const Plugin& plugin) {
  std::vector<const mote_device*> all;
  void* symbol = dlsym(plugin.library.get(), "mote_plugin_devices");
  if (symbol == nullptr) return all;
  const auto list = reinterpret_cast<mote_plugin_devices_fn>(symbol);
  const mote_device* devices = nullptr;
  std::int32_t count = 0;
  const mote_status status =
      answer_of(plugin.path, "mote_plugin_devices", [&] { return list(&devices, &count); });
  if (status != MOTE_OK)
    fail(plugin.path, "mote_plugin_devices failed with status " + std::to_string(status));
  const std::string owner = "plug-in " + plugin.path;
  check_array(owner, "its list of devices", devices, count);
  for (std::int32_t d = 0; d < count; ++d) {
    all.push_back(element(devices, d));
    check_device(owner, *all.back());
  }
  return all;
}

const mote_kernel& kernel_at(const mote_backend& backend, std::int32_t index) {
  return *element(backend.kernels, index);
}

KernelChoice choose_kernel(const mote_backend& backend, const mote_call& call) {
  std::array<char, 512> message{};
  mote_call asked = call;
  asked.message = message.data();
  asked.message_bytes = message.size();

  const std::string op = call.op;
  std::vector<std::string> reasons;
  std::string of_other_dtypes;
  for (std::int32_t k = 0; k < backend.kernel_count; ++k) {
    const mote_kernel* kernel = &kernel_at(backend, k);
    if (op != kernel->op) continue;
    message.front() = '\0';
    const mote_status status = ask_kernel(*kernel, asked);
    if (status == MOTE_OK) return {.kernel = kernel, .reason = ""};
    const std::string reason = declined(status, message.data());
    if (reason.ends_with(kIsOfOtherDtypes))
      of_other_dtypes = of_other_dtypes.empty() ? reason : of_other_dtypes;
    else if (std::ranges::find(reasons, reason) == reasons.end())
      reasons.push_back(reason);
  }
  if (reasons.empty())
    reasons.push_back(of_other_dtypes.empty() ? "no kernel for " + op : of_other_dtypes);
  KernelChoice choice;
  for (const std::string& reason : reasons)
    choice.reason += (choice.reason.empty() ? "" : "; ") + reason;
  return choice;
}

}  // namespace mote
