// SPDX-License-Identifier: Apache-2.0
// The kernels of a backend that runs the catalogue's CUDA: one of each op in the variant reference,
// four of each in the variant gen, by the contracts of their dtypes, one of f32 in the variant
// tf32.
#pragma once

#include <cstdint>
#include <vector>

#include "catalogue_kernels.h"
#include "mote/base/kernel.h"
#include "plan.h"

namespace mote::cuda {

/// Kernels with one contract: of integers and booleans, of f64, of f32, of 16-bit reals.
enum class Kind : std::uint8_t { integer, f64, f32, narrow };

/// Returns the kernels' contract. The variant reference has one contract for all.
const mote_contract& contract_of(Variant variant, Kind kind);

/// Calls find_instance() and checks that the instance is of the kind and has the variant; the
/// variant reference accepts any kind.
const OpInstance* find_instance(const mote_call& call, Variant variant, Kind kind,
                                backend::Check& refusal);

mote_backend backend_of(const char* name, const char* version,
                        const std::vector<mote_kernel>& kernels);

/// The functions of the kernels. A Machine has: `grid()`; `ready(call)`, the reason why it cannot
/// run any kernel; `workspace_bytes(call, plan)`, of the caller's workspace; `run(call, stream,
/// instance, variant, plan)`.
template <typename Machine, Variant variant, Kind kind>
struct KernelFunctions {
  static mote_status can_run(const mote_call* call) {
    return backend::guarded(*call, [&]() -> backend::Check {
      backend::Check refusal;
      if (const auto* instance = find_instance(*call, variant, kind, refusal))
        const Plan plan(*call, *instance, variant, false, Machine::grid(), refusal);
      return refusal ? refusal : Machine::ready(*call);
    });
  }

  static std::size_t workspace_bytes(const mote_call* call) {
    std::size_t bytes = 0;
    backend::guarded(*call, [&]() -> backend::Check {
      backend::Check refusal;
      if (const auto* instance = find_instance(*call, variant, kind, refusal)) {
        const Plan plan(*call, *instance, variant, false, Machine::grid(), refusal);
        if (!refusal) bytes = Machine::workspace_bytes(*call, plan);
      }
      return refusal;
    });
    return bytes;
  }

  static mote_status run(const mote_call* call, void* stream) {
    return backend::guarded(*call, [&]() -> backend::Check {
      backend::Check refusal;
      const auto* instance = find_instance(*call, variant, kind, refusal);
      if (instance == nullptr) return refusal;
      const Plan plan(*call, *instance, variant, true, Machine::grid(), refusal);
      if (refusal) return refusal;
      const std::size_t bytes = Machine::workspace_bytes(*call, plan);
      if (call->workspace_bytes < bytes) return too_little_workspace(*call, bytes);
      return Machine::run(*call, stream, *instance, variant, plan);
    });
  }

 private:
  static backend::Refusal too_little_workspace(const mote_call& call, std::size_t expected) {
    return backend::invalid(std::to_string(call.workspace_bytes) +
                            " bytes of workspace, expected " + std::to_string(expected));
  }
};

template <typename Machine, Variant variant, Kind kind>
mote_kernel kernel_of(const OpRecord& record) {
  using Of = KernelFunctions<Machine, variant, kind>;
  return {.size = sizeof(mote_kernel),
          .op = record.name.c_str(),
          .contract = &contract_of(variant, kind),
          .can_run = Of::can_run,
          .workspace_bytes = Of::workspace_bytes,
          .run = Of::run,
          .run_checked = nullptr};
}

template <typename Machine>
std::vector<mote_kernel> reference_kernels() {
  std::vector<mote_kernel> made;
  for (const OpRecord* record : ops_with_kernels())
    made.push_back(kernel_of<Machine, Variant::reference, Kind::integer>(*record));
  return made;
}

/// Makes the kernels of the variant tf32. Whether an instance has the variant follows from its
/// source, which is made at its first call.
template <typename Machine>
std::vector<mote_kernel> tf32_kernels() {
  std::vector<mote_kernel> made;
  for (const OpRecord* record : ops_with_kernels())
    if (may_have_tf32(*record))
      made.push_back(kernel_of<Machine, Variant::tf32, Kind::f32>(*record));
  return made;
}

template <typename Machine>
std::vector<mote_kernel> gen_kernels() {
  std::vector<mote_kernel> made;
  for (const OpRecord* record : ops_with_kernels()) {
    made.push_back(kernel_of<Machine, Variant::gen, Kind::integer>(*record));
    made.push_back(kernel_of<Machine, Variant::gen, Kind::f64>(*record));
    made.push_back(kernel_of<Machine, Variant::gen, Kind::f32>(*record));
    made.push_back(kernel_of<Machine, Variant::gen, Kind::narrow>(*record));
  }
  return made;
}

}  // namespace mote::cuda
