// SPDX-License-Identifier: Apache-2.0
// Bounds integers by what dtypes and the limits of parameters say.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "mote/base/dtype.h"
#include "mote/codegen/loops.h"

namespace mote {

/// Returns the least and the greatest integer that the value may be; nullopt if nothing is known,
/// or if arithmetic may overflow 64 bits. `range_of_name` gives the ranges of names.
std::optional<IntegerRange> range_of(
    const LoopProgram& p, const Value& v,
    const std::function<std::optional<IntegerRange>(const std::string&)>& range_of_name);
/// Does so with the ranges of the values that the program binds to names.
std::optional<IntegerRange> range_of(const LoopProgram& p, const Value& v);
/// Returns true if the range is known and in that of the dtype.
bool fits(const std::optional<IntegerRange>& range, DType dtype);

/// Returns the accumulators that are a maximum or a minimum of integers which all fit 32 bits, and
/// so fit them too. All statements that fold into them must be in the body.
std::set<std::string> short_extrema(const LoopProgram& p, const Body& body);

}  // namespace mote
