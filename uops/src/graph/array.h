// SPDX-License-Identifier: Apache-2.0
// Arrays that come from outside.
#pragma once

#include "mote/uops/evaluate.h"

namespace mote {

/// Error unless the array is one for input k: its dtype, one value of the right kind per element.
void check_array(const Program& p, std::size_t k, const Array& a);

}  // namespace mote
