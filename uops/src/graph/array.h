// SPDX-License-Identifier: Apache-2.0
// Arrays that come from outside.
#pragma once

#include "mote/uops/evaluate.h"

namespace mote {

/// Throws Error unless the array fits input k: its dtype, one value of the right kind per element.
void check_array(const Program& p, std::size_t k, const Array& a);

}  // namespace mote
