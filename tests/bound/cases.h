// SPDX-License-Identifier: Apache-2.0
// Draws cases of an op, with data for their inputs, from a seed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge.h"
#include "mote/oracle/case.h"

namespace mote::test {

/// Returns case number `round` of the op in that dtype, small enough for evaluators; nullopt if the
/// draws for that number are all too large.
std::optional<Case> draw_case(const OpRecord& record, DType dtype, std::int64_t round);

/// Draws real inputs of that kind, and small whole numbers for the others.
std::vector<Array> draw_inputs(const Case& c, Data kind, std::uint64_t seed);

/// True if $MOTE_OP names the op, or is not set.
bool is_wanted(const std::string& op);

/// Returns a number from the environment, or `otherwise`.
std::int64_t setting(const char* name, std::int64_t otherwise);

}  // namespace mote::test
