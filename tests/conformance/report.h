// SPDX-License-Identifier: Apache-2.0
// The table of results by operator, as Markdown; and the floor that an earlier table sets.
#pragma once

#include <string>
#include <vector>

#include "suite.h"

namespace mote::onnx {

/// Returns the totals, one row for each operator with a test that passed or failed, then the
/// operators with no applicable test, with the reasons.
std::string table(const std::vector<Result>& results);

/// Returns a sentence with the ops of the catalogue that ran in none of the tests.
std::string unreached(const std::vector<Result>& results);

/// Returns the operators for which fewer tests pass now than the tables in `earlier` say.
std::vector<std::string> losses(const std::string& earlier, const std::vector<Result>& results);

/// Returns the rows of `earlier` that `now` does not have, word for word.
std::vector<std::string> outdated(const std::string& earlier, const std::string& now);

}  // namespace mote::onnx
