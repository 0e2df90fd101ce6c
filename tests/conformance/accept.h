// SPDX-License-Identifier: Apache-2.0
// Decides whether a result is accepted: bit for bit if it must be exact, else by the tests' own
// rule |got - expected| <= 1e-7 + 1e-3 |expected| (2^-6 |expected| for bfloat16).
#pragma once

#include <optional>
#include <string>

#include "mote/uops/evaluate.h"

namespace mote::onnx {

/// Returns nullopt if the result is accepted, else the difference: dtype, shape, or the number of
/// wrong elements and the first one. Integers and booleans are always exact. NaNs are alike, -0
/// equals +0.
std::optional<std::string> mismatch(const Array& got, const Array& expected, bool exact);

}  // namespace mote::onnx
