// SPDX-License-Identifier: Apache-2.0
// Finds values that a program computes twice, along axes in different orders.
#pragma once

#include <optional>

#include "mote/base/export.h"
#include "mote/uops/program.h"

namespace MOTE_API mote {

/// Returns the program in which a node whose elements are those of an earlier node, v[i, j] = u[j,
/// i], reads them there; sums keep the order of their terms, so that results are equal bit for bit.
/// Returns nullopt if that would compute no reduction or transcendental function less.
std::optional<Program> computed_once(const Program& program);

}  // namespace mote
