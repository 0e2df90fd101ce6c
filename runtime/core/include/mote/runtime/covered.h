// SPDX-License-Identifier: Apache-2.0
// Decides whether several strided views of one memory cover another one, by their locations alone.
#pragma once

#include <span>

#include "mote/base/export.h"
#include "mote/runtime/overlap.h"

namespace MOTE_API mote {

/// True if each byte of the first view's elements belongs to an element of one of the others. Where
/// the views step alike, the time grows with their number and not with that of their elements.
bool are_covered(const ViewPlaces& read, std::span<const ViewPlaces> views);

}  // namespace mote
