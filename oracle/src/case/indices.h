// SPDX-License-Identifier: Apache-2.0
// Finds the inputs of a program that are indices, by the nodes that read or write at an element's
// value, and the values that such an element may have. Flags are those of mote_indices.
#pragma once

#include <string>
#include <vector>

#include "mote/base/kernel.h"
#include "mote/oracle/case.h"
#include "run/buffer.h"

namespace mote {

/// True if an input of the program is an index.
bool has_indices(const Program& program);

/// Replaces elements of input `input` that are not indices of that kind by such indices. Elements
/// stay if their axis has no element.
void restrict_indices(const Case& c, std::size_t input, int flags, Dense& values);

/// The reason why the inputs do not fit a kernel whose contract has these flags: "index[3] is 7,
/// …"; empty if they fit.
std::string index_misfit(const Case& c, const std::vector<Dense>& inputs, int flags);

/// True if an index of the case is along an axis without elements, so that none is valid.
bool lacks_valid_index(const Case& c);
/// The case with the indices that the backend's kernels of its op assume. If only some of these
/// kernels assume any, half of all cases stay as they were.
Case with_indices_for(const Case& c, const mote_backend& backend);

}  // namespace mote
