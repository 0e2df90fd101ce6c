// SPDX-License-Identifier: Apache-2.0
// Defines an op with more than 32 inputs, more than the bits of a 32-bit word.
#include <mote/macroops/library.h>
#include <mote/uops/uop.h>

#include <cstddef>
#include <string>
#include <vector>

namespace mote {
namespace {

std::string name_of(std::size_t k) {
  return {'x', static_cast<char>('a' + k / 26), static_cast<char>('a' + k % 26)};
}

/// y = xaa + xab + … (+ bias)
OpRecord sum40_op() {
  constexpr std::size_t kCount = 40;
  OpRecord sum;
  sum.name = "sum40";
  sum.family = "elementwise";
  sum.equation = "y[i] = xaa[i] + xab[i] + ... (+ bias[i])";
  for (std::size_t k = 0; k < kCount; ++k) sum.inputs.push_back({name_of(k)});
  sum.inputs.push_back({"bias", true});
  sum.dtypes = {DType::f32};
  sum.source = "this test";
  sum.define = [](const Instance& instance) {
    ProgramSpec spec;
    Uop y;
    for (std::size_t k = 0; k <= kCount; ++k) {
      if (!is_in(instance.input_mask, k)) continue;
      const std::string name = k < kCount ? name_of(k) : "bias";
      spec.inputs.push_back(input(name, instance.dtype, {"N"}));
      y = y ? y + spec.inputs.back() : spec.inputs.back();
    }
    spec.outputs = {{"y", y}};
    return spec;
  };
  return sum;
}

}  // namespace

std::vector<OpRecord> library_ops() { return {sum40_op()}; }

}  // namespace mote
