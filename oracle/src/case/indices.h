// SPDX-License-Identifier: Apache-2.0
// Inputs that are indices, found in the program: what reads or writes where an element says, and
// which values that element may have. Flags are those of mote_indices.
#pragma once

#include <string>
#include <vector>

#include "mote/base/kernel.h"
#include "mote/oracle/case.h"
#include "run/buffer.h"

namespace mote {

/// Whether an input of the program is an index.
bool has_indices(const Program& program);

/// Elements of input `input` that are no index of that kind become one. Where an axis has no
/// element, they stay.
void restrict_indices(const Case& c, std::size_t input, int flags, Dense& values);

/// Why the inputs are not for a kernel whose contract has these flags: "index[3] is 7, …"; empty
/// where they are.
std::string index_misfit(const Case& c, const std::vector<Dense>& inputs, int flags);

/// An index of the case is along an axis without elements, so that none is valid.
bool lacks_valid_index(const Case& c);
/// The case as the backend's kernels of its op take it for granted: with such indices alone. Where
/// only some of these kernels do, half of all cases are as they were.
Case with_indices_for(const Case& c, const mote_backend& backend);

}  // namespace mote
