// SPDX-License-Identifier: Apache-2.0
// Evaluates programs directly, slowly and obviously right, as the root of trust, in double
// (integers in wrapping 64-bit). It shares no code with lowering or the passes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/uops/program.h"

namespace MOTE_API mote {

/// A dense row-major tensor of values. Reals hold doubles, integers and booleans hold int64.
struct Array {
  DType dtype = DType::f64;
  std::vector<std::int64_t> shape;
  std::vector<Number> values;

  friend bool operator==(const Array& a, const Array& b);  ///< uses same() for each element
};
std::int64_t element_count(const std::vector<std::int64_t>& shape);  ///< throws Error on overflow

/// Returns the outputs, rounded to their dtypes. Throws Error as bind() does.
std::vector<Array> evaluate(const Program& program, const std::vector<Array>& inputs,
                            const std::map<std::string, Number>& params);

}  // namespace mote
