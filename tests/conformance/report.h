// SPDX-License-Identifier: Apache-2.0
// The table of results by operator, as Markdown; and the floor that an earlier table sets.
#pragma once

#include <string>
#include <vector>

#include "suite.h"

namespace mote::onnx {

/// Totals, one row for each operator of which a test passed or failed, then those of which none is
/// applicable, with the reasons.
std::string table(const std::vector<Result>& results);

/// The ops of the catalogue that ran in none of the tests, in a sentence.
std::string unreached(const std::vector<Result>& results);

/// Operators of which fewer tests pass now than the rows of `earlier` (such tables) say.
std::vector<std::string> losses(const std::string& earlier, const std::vector<Result>& results);

/// The rows of `earlier` that `now` does not have, word for word: what is no longer so.
std::vector<std::string> outdated(const std::string& earlier, const std::string& now);

}  // namespace mote::onnx
