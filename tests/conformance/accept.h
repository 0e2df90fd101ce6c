// SPDX-License-Identifier: Apache-2.0
// Whether a result is accepted: bit for bit where it must be exact, else by the tests' own rule
// |got - expected| <= 1e-7 + 1e-3 |expected| (2^-6 |expected| for bfloat16), which stands until
// mote's bound on errors exists.
#pragma once

#include <optional>
#include <string>

#include "mote/uops/evaluate.h"

namespace mote::onnx {

/// nullopt when accepted, else what is wrong: dtype, shape, or how many elements and the first one.
/// Integers and booleans are always exact. NaNs are alike, -0 equals +0.
std::optional<std::string> mismatch(const Array& got, const Array& expected, bool exact);

}  // namespace mote::onnx
