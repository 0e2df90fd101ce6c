// SPDX-License-Identifier: Apache-2.0
// Reads calls and makes the plug-in's table; see subject.h. Each plug-in links its own copy, so
// that it has its own table.
#include "subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

namespace mote::subject {
namespace {

using backend::Check;

struct Table {
  std::span<const Kernel> kernels;
  std::deque<mote_contract> contracts;
  std::vector<mote_kernel> offered;
};

constexpr std::size_t kTables = 2;
std::array<Table, kTables>& tables() {
  static std::array<Table, kTables> all;
  return all;
}

void unless(const Check& refusal) {
  if (refusal) throw Declined{*refusal};
}

void lift(Operand& operand, int rank) {
  while (static_cast<int>(operand.shape.size()) < rank) {
    operand.shape.insert(operand.shape.begin(), 1);
    operand.strides.insert(operand.strides.begin(), 0);
  }
}

Work planned(const mote_call& call, const Table& table) {
  const std::string_view op = call.op;
  for (const Kernel& kernel : table.kernels)
    if (op == kernel.op) return kernel.plan(Call(call));
  decline(fmt::format("no kernel for {}", op));
}

mote_status guarded(const mote_call* call, const Table& table, bool runs) {
  return backend::guarded(*call, [&]() -> Check {
    try {
      const Work work = planned(*call, table);
      if (runs) work();
      return {};
    } catch (const Declined& declined) {
      return declined.refusal;
    }
  });
}

// A call does not say which backend was asked, so each backend has functions of its own.
template <std::size_t kTable>
mote_status can_run(const mote_call* call) {
  return guarded(call, tables()[kTable], false);
}
template <std::size_t kTable>
mote_status run(const mote_call* call, void*) {
  return guarded(call, tables()[kTable], true);
}
constexpr std::array kCanRun = {can_run<0>, can_run<1>};
constexpr std::array kRun = {run<0>, run<1>};

mote_contract contract(const Promise& promise) {
  return {.size = sizeof(mote_contract),
          .accumulator = promise.accumulator,
          .multiply_rounding = 0,
          .flushes_denormals = promise.flushes_denormals ? 1 : 0,
          .deterministic = 1,
          .form = promise.form,
          .function_count = static_cast<std::int32_t>(promise.functions.size()),
          .in_place_count = static_cast<std::int32_t>(promise.in_place.size()),
          .functions = promise.functions.data(),
          .in_place = promise.in_place.data(),
          .ignores_nan = promise.ignores_nan ? 1 : 0,
          .reserved = 0,
          .indices = MOTE_INDICES_ANY,
          .reserved_end = 0};
}

mote_backend backend_of(const Backend& given, const char* version, std::size_t at) {
  Table& t = tables()[at];
  t.kernels = given.kernels;
  for (const Kernel& kernel : given.kernels)
    t.offered.push_back({.size = sizeof(mote_kernel),
                         .op = kernel.op,
                         .contract = &t.contracts.emplace_back(contract(kernel.promise)),
                         .can_run = kCanRun[at],
                         .workspace_bytes = nullptr,
                         .run = kRun[at],
                         .run_checked = nullptr});
  return {.size = sizeof(mote_backend),
          .name = given.name,
          .version = version,
          .kernel_count = static_cast<std::int32_t>(t.offered.size()),
          .reserved = 0,
          .kernels = t.offered.data()};
}

}  // namespace

void decline(std::string why) { throw Declined{backend::unsupported(std::move(why))}; }

Operand Call::input(int k, int rank) const {
  Operand operand;
  const std::string name = fmt::format("input {}", k);
  if (!has_input(k)) throw Declined{backend::invalid(name + " is missing")};
  unless(backend::read_input(call_, k, name.c_str(), 0, rank, operand));
  lift(operand, rank);
  return operand;
}

Operand Call::output(int k, int rank) const {
  Operand operand;
  const std::string name = fmt::format("output {}", k);
  if (k >= call_.output_count) throw Declined{backend::invalid(name + " is missing")};
  unless(backend::read_output(call_, k, name.c_str(), 0, rank, operand));
  lift(operand, rank);
  return operand;
}

std::int64_t Call::integer(const std::string& name, std::int64_t otherwise) const {
  std::int64_t value = otherwise;
  unless(backend::read_integer(call_, name.c_str(), 0, value));
  return value;
}

double Call::real(const char* name, double otherwise) const {
  double value = otherwise;
  unless(backend::read_real(call_, name, value));
  return value;
}

void need(std::initializer_list<DType> accepted, std::initializer_list<const Operand*> operands) {
  unless(backend::check_dtypes(operands, accepted));
}

void need_elements(std::initializer_list<const Operand*> operands) {
  for (const Operand* operand : operands)
    if (count(*operand) == 0) decline(operand->text() + " is empty");
}

Operand permuted(const Operand& operand, std::initializer_list<std::size_t> order) {
  Operand result = operand;
  std::size_t to = 0;
  for (const std::size_t from : order) {
    result.shape[to] = operand.shape[from];
    result.strides[to++] = operand.strides[from];
  }
  return result;
}

Operand broadcast(const Operand& operand, const std::vector<std::int64_t>& shape) {
  Operand result = operand;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (result.shape[axis] == shape[axis]) continue;
    if (result.shape[axis] != 1)
      throw Declined{backend::invalid(operand.text() + " does not broadcast")};
    result.shape[axis] = shape[axis];
    result.strides[axis] = 0;
  }
  return result;
}

std::int64_t count(const Operand& operand) {
  std::int64_t product = 1;
  for (const std::int64_t extent : operand.shape) product *= extent;
  return product;
}

bool is_row_major(const Operand& operand) {
  std::int64_t distance = 1;
  for (std::size_t axis = operand.shape.size(); axis-- > 0;) {
    if (operand.shape[axis] != 1 && operand.strides[axis] != distance) return false;
    distance *= operand.shape[axis];
  }
  return true;
}

void for_each_offset(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                     const std::function<void(std::int64_t)>& visit) {
  if (std::ranges::find(shape, 0) != shape.end()) return;
  std::vector<std::int64_t> index(shape.size(), 0);
  std::int64_t offset = 0;
  while (true) {
    visit(offset);
    std::size_t axis = shape.size();
    while (axis-- > 0) {
      offset += strides[axis];
      if (++index[axis] < shape[axis]) break;
      offset -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
    if (axis == static_cast<std::size_t>(-1)) return;
  }
}

mote_status offer(mote_plugin& plugin, const std::string& version,
                  std::initializer_list<Backend> backends) {
  static std::string kept_version;
  static std::vector<mote_backend> offered;
  kept_version = version;
  for (const Backend& backend : backends)
    offered.push_back(backend_of(backend, kept_version.c_str(), offered.size()));
  plugin.abi_version = MOTE_ABI_VERSION;
  plugin.backend_count = static_cast<std::int32_t>(offered.size());
  plugin.backends = offered.data();
  return MOTE_OK;
}

}  // namespace mote::subject
