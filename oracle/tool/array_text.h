// SPDX-License-Identifier: Apache-2.0
// Tensors for people: rows in brackets, as NumPy prints them.
#pragma once

#include <string>

#include "mote/oracle/reference_values.h"

namespace mote::tool {

/// "y f32[2,2]\n[[1, 0.5],\n [2, -inf]]\n". Beyond a thousand elements, unless `whole`, of an axis
/// with more than six the first and last three alone.
std::string array_text(const TensorValues& t, bool whole);
/// {"tensor": "y", "role": "output", "dtype": "f32", "shape": [2, 2], "values": [[1, 0.5], …]} and
/// a newline. NaN and infinities are strings.
std::string array_json(const TensorValues& t, const char* role);

}  // namespace mote::tool
