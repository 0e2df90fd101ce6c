// SPDX-License-Identifier: Apache-2.0
// Tests the kind of a node.
#pragma once

#include <variant>

#include "mote/uops/uop.h"

namespace mote::blocks {

/// The node as a T; null if it is of another kind.
template <typename T>
const T* as(const Uop& u) {
  return std::get_if<T>(&u.node().kind);
}

}  // namespace mote::blocks
