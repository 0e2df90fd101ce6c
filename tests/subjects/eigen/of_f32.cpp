// SPDX-License-Identifier: Apache-2.0
// Kernels whose contract holds only for f32.
#include "kernels.h"

namespace mote::subject::eigen {
namespace {

void need_f32(const Call& call) {
  if (call.input(0, 4).dtype != DType::f32) decline("other dtypes than f32 have another error");
}

}  // namespace

Work unary_of_f32(const Call& call) {
  need_f32(call);
  return unary(call);
}

Work activation_of_f32(const Call& call) {
  need_f32(call);
  return activation(call);
}

Work binary_of_f32(const Call& call) {
  need_f32(call);
  return binary(call);
}

}  // namespace mote::subject::eigen
