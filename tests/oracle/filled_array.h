// SPDX-License-Identifier: Apache-2.0
// The inputs of a case as arrays, without strides.
#pragma once

#include "mote/oracle/case.h"
#include "mote/oracle/fill.h"
#include "mote/uops/evaluate.h"

namespace mote::test {

/// Returns input k, whose fill has that radius.
inline Array filled_array(const Case& c, std::size_t k, std::int64_t radius) {
  const CaseTensor& t = c.inputs[k];
  const std::int64_t count = volume(t.shape);
  const Filler filler(
      c.fill,
      {t.name, t.dtype, static_cast<int>(k), static_cast<int>(c.inputs.size()), count, t.shape},
      radius);
  Array a{t.dtype, t.shape, {}};
  for (std::int64_t at = 0; at < count; ++at) {
    a.values.push_back(is_real(t.dtype) ? store_as(filler.real(at), t.dtype)
                                        : Number(filler.integer(at)));
  }
  return a;
}

}  // namespace mote::test
