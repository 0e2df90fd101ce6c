// SPDX-License-Identifier: Apache-2.0
// Cases of an op with data for their inputs, drawn from a seed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge.h"
#include "mote/oracle/case.h"

namespace mote::test {

/// Case number `round` of the op in that dtype, small enough for evaluators; nullopt where the
/// draws there are all too large.
std::optional<Case> draw_case(const OpRecord& record, DType dtype, std::int64_t round);

/// Real inputs of that kind, small whole numbers for the others.
std::vector<Array> draw_inputs(const Case& c, Data kind, std::uint64_t seed);

/// Whether $MOTE_OP names the op, or nothing.
bool is_wanted(const std::string& op);

/// A number from the environment.
std::int64_t setting(const char* name, std::int64_t otherwise);

}  // namespace mote::test
