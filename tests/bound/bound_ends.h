// SPDX-License-Identifier: Apache-2.0
// Computes the bound's ends for a program given as text.
#pragma once

#include <string>
#include <vector>

#include "mote/uops/bound.h"
#include "mote/uops/evaluate.h"

namespace mote::test {

struct Ends {
  std::vector<Number> lo, hi;
};

/// Makes an array of the values rounded to dtype.
inline Array array_of(DType dtype, std::vector<std::int64_t> shape,
                      const std::vector<double>& values) {
  Array a{dtype, std::move(shape), {}};
  for (const double v : values)
    a.values.push_back(is_real(dtype) ? store_as(v, dtype) : Number(static_cast<std::int64_t>(v)));
  return a;
}

/// Returns the ends of output y of the program whose inputs and last line are `lines`.
inline Ends ends_of(const std::string& lines, const std::vector<Array>& inputs,
                    const Contract& contract = {}) {
  const Program p = parse_program("op test\n" + lines + "\n");
  const std::vector<Array> out = evaluate(bound(p, contract), inputs, {});
  return {out[0].values, out[1].values};
}

}  // namespace mote::test
