// SPDX-License-Identifier: Apache-2.0
// Variables and a size that loops of the tests run over.
#pragma once

#include "loop_builders.h"

namespace mote::test {

inline const Expr i = var("i");
inline const Expr j = var("j");
inline const Expr n = var("n");
inline const Expr end = size("N");

}  // namespace mote::test
