// SPDX-License-Identifier: Apache-2.0
// Adapters of operators that draw random numbers, for cases whose results do not depend on them: no
// two generators have the same stream.
#include "call.h"

namespace mote::onnx {
namespace {

using Outputs = std::vector<Array>;

/// The mask is an output from version 7 on; until version 12 the ratio is an attribute, and no
/// element is dropped.
Outputs dropout(const Call& c) {
  const Array& x = c.in(0);
  const double ratio = c.has(1) ? real_in(c.in(1)) : c.real("ratio", 0.5);
  const bool training = c.has(2) && real_in(c.in(2)) != 0;
  if (training && ratio != 0) {
    throw NotApplicable("random numbers: the test's data come from another generator");
  }
  const Params params = {{"ratio", ratio}, {"training", training ? 1 : 0}};
  const Array flat = reshaped(x, merged({x.shape}, 4).front());
  Outputs outputs = c.kernels().run_all("dropout", x.dtype, {&flat}, params);
  for (Array& y : outputs) y = reshaped(std::move(y), x.shape);
  return outputs;
}

}  // namespace

Adapters random_adapters() { return {{"Dropout", dropout}}; }

}  // namespace mote::onnx
