// SPDX-License-Identifier: Apache-2.0
#include "kernel_table.h"

#include <array>
#include <span>

#include "mote/base/plugin.h"
#include "mote/uops/bound.h"

namespace mote::cuda {
namespace {

Kind kind_of(const OpInstance& instance) {
  const DType dtype = instance.instance().dtype;
  if (!is_real(dtype)) return Kind::integer;
  return dtype == DType::f64 ? Kind::f64 : dtype == DType::f32 ? Kind::f32 : Kind::narrow;
}

/// Returns the functions of gen: those of gen's CPU kernels, with the same accuracy.
std::span<const mote_accuracy> functions() {
  static const std::vector<mote_accuracy> all = [] {
    std::vector<mote_accuracy> made;
    for (const FunctionAccuracy& f : gen_accuracy()) made.push_back({f.function, f.ulp, 0, 0});
    return made;
  }();
  return all;
}

/// Returns the functions of gen, and sums of products as tensor cores form them: digits are cut off
/// below the last of the greatest addend of a step, then beyond a float's, so that each of n
/// products adds less than 2 ulps of the sum of their magnitudes.
std::span<const mote_accuracy> functions_of_tensor_cores() {
  static const std::vector<mote_accuracy> all = [] {
    std::vector<mote_accuracy> made(functions().begin(), functions().end());
    made.push_back({kDot, 2, 0, 0});
    return made;
  }();
  return all;
}

mote_contract contract(mote_accumulator accumulator, std::span<const mote_accuracy> accuracies,
                       int multiply_rounding = 0) {
  return {.size = sizeof(mote_contract),
          .accumulator = accumulator,
          .multiply_rounding = multiply_rounding,
          .flushes_denormals = 0,
          .deterministic = 1,
          .form = "direct",
          .function_count = static_cast<std::int32_t>(accuracies.size()),
          .in_place_count = MOTE_IN_PLACE_ALL,
          .functions = accuracies.empty() ? nullptr : accuracies.data(),
          .in_place = nullptr,
          .ignores_nan = 0,
          .reserved = 0,
          .indices = MOTE_INDICES_ANY,
          .reserved_end = 0};
}

}  // namespace

const mote_contract& contract_of(Variant variant, Kind kind) {
  static const mote_contract in_double = contract(MOTE_ACC_F64, {});
  // Kernels of integers may compute in f32: a scale, a gradient.
  static const std::array<mote_contract, 4> of_gen = {
      contract(MOTE_ACC_NATIVE, functions()), contract(MOTE_ACC_NATIVE, {}),
      contract(MOTE_ACC_NATIVE, functions()), contract(MOTE_ACC_F32, functions_of_tensor_cores())};
  constexpr int kTf32Bits = 11;
  static const mote_contract in_tf32 =
      contract(MOTE_ACC_NATIVE, functions_of_tensor_cores(), kTf32Bits);
  if (variant == Variant::tf32) return in_tf32;
  return variant == Variant::reference ? in_double : of_gen.at(static_cast<std::size_t>(kind));
}

const OpInstance* find_instance(const mote_call& call, Variant variant, Kind kind,
                                backend::Check& refusal) {
  const OpInstance* found = find_instance(call, refusal);
  if (found == nullptr || variant == Variant::reference) return found;
  if (kind_of(*found) == kind && found->has(variant)) return found;
  refusal = backend::unsupported(kind_of(*found) == kind ? "no product of the op is one of tf32"
                                                         : kIsOfOtherDtypes);
  return nullptr;
}

mote_backend backend_of(const char* name, const char* version,
                        const std::vector<mote_kernel>& kernels) {
  return {.size = sizeof(mote_backend),
          .name = name,
          .version = version,
          .kernel_count = static_cast<std::int32_t>(kernels.size()),
          .reserved = 0,
          .kernels = kernels.data()};
}

}  // namespace mote::cuda
