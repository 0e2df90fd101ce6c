// SPDX-License-Identifier: Apache-2.0
// Prints tensors for people: rows in brackets, as in NumPy.
#pragma once

#include <string>

#include "mote/oracle/reference_values.h"

namespace mote::tool {

/// The text "y f32[2,2]\n[[1, 0.5],\n [2, -inf]]\n". Unless `whole`, a tensor of more than a
/// thousand elements shows only the first and last three indices of axes with more than six.
std::string array_text(const TensorValues& t, bool whole);
/// The line {"tensor": "y", "role": "output", "dtype": "f32", "shape": [2, 2], "values": [[1, 0.5],
/// …]} with a newline. NaN and infinities are strings.
std::string array_json(const TensorValues& t, const char* role);

}  // namespace mote::tool
