// SPDX-License-Identifier: Apache-2.0
// The kernels of a backend over a library: a table of ops, each of which builds its work from a
// call.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "cuda/device_call.h"
#include "mote/base/kernel.h"
#include "reader.h"

namespace mote::nvidia {

/// The work of a call. It is built and run while the GPU's context is current.
struct Work {
  std::size_t workspace_bytes = 0;
  std::function<void(const cuda::OnDevice&)> run;
};

struct Op {
  const char* name;
  /// Throws Declined, LibraryError, or Error if the library is not installed.
  Work (*build)(const Reader&);
  const mote_contract* contract;
  std::span<const char* const> parameters = {};  ///< the names of those that it reads
};

/// The kernels of one backend and one kind.
struct Table {
  const char* backend;
  Kind kind;
  std::span<const Op> ops;
};

mote_status can_run(const mote_call& call, const Table& table);
std::size_t workspace_bytes(const mote_call& call, const Table& table);
mote_status run(const mote_call& call, void* stream, const Table& table);

template <const Table& table>
void add_kernels(std::vector<mote_kernel>& kernels) {
  for (const Op& op : table.ops)
    kernels.push_back(
        {.size = sizeof(mote_kernel),
         .op = op.name,
         .contract = op.contract,
         .can_run = [](const mote_call* call) { return can_run(*call, table); },
         .workspace_bytes = [](const mote_call* call) { return workspace_bytes(*call, table); },
         .run = [](const mote_call* call, void* stream) { return run(*call, stream, table); },
         .run_checked = nullptr});
}

template <const Table&... tables>
std::vector<mote_kernel> kernels_of() {
  std::vector<mote_kernel> kernels;
  (add_kernels<tables>(kernels), ...);
  return kernels;
}

/// The backends of one library's plug-in: one that rounds nothing beyond its dtype, and one of
/// tf32. It lives as long as the plug-in.
class Backends {
 public:
  Backends(const char* exact_name, std::vector<mote_kernel> exact, const char* tf32_name,
           std::vector<mote_kernel> tf32);
  Backends(const Backends&) = delete;
  Backends& operator=(const Backends&) = delete;
  mote_status offer(mote_plugin& plugin) const;

 private:
  std::vector<mote_kernel> exact_, tf32_;
  std::array<mote_backend, 2> all_;
};

/// Tensor cores cut digits off below the last of the greatest addend of a step: each of n products
/// adds less than 2 ulps of the sum of their magnitudes (docs/cuda.md).
inline constexpr mote_accuracy kTensorCores = {"dot", 2, 0, 0};
inline constexpr std::array kSumsOfTensorCores = {kTensorCores};
constexpr bool may_take_tensor_cores(Kind kind) { return is_narrow(kind) || kind == Kind::tf32; }
/// Returns the functions of a kernel that sums products, and has no others.
constexpr std::span<const mote_accuracy> sums_of(Kind kind) {
  return may_take_tensor_cores(kind) ? std::span<const mote_accuracy>(kSumsOfTensorCores)
                                     : std::span<const mote_accuracy>();
}

/// The parts of a contract that differ between kernels. No manual of these libraries says whether
/// subnormal numbers survive, so no kernel promises it.
struct Promise {
  Kind kind = Kind::f32;
  std::span<const mote_accuracy> functions = {};
  std::span<const mote_op_pair> in_place = {};
  bool ignores_nan = false;
  const char* form = "direct";
  int multiply_rounding = 0;  ///< significant bits; 0: those of the kind
  bool deterministic = true;
};
constexpr mote_contract contract(const Promise& p) {
  constexpr int kTf32Bits = 11;
  return {.size = sizeof(mote_contract),
          .accumulator = is_narrow(p.kind) ? MOTE_ACC_F32 : MOTE_ACC_NATIVE,
          .multiply_rounding = p.kind == Kind::tf32 ? kTf32Bits : p.multiply_rounding,
          .flushes_denormals = 1,
          .deterministic = p.deterministic ? 1 : 0,
          .form = p.form,
          .function_count = static_cast<std::int32_t>(p.functions.size()),
          .in_place_count = static_cast<std::int32_t>(p.in_place.size()),
          .functions = p.functions.data(),
          .in_place = p.in_place.data(),
          .ignores_nan = p.ignores_nan ? 1 : 0,
          .reserved = 0,
          .indices = MOTE_INDICES_ANY,
          .reserved_end = 0};
}

}  // namespace mote::nvidia
