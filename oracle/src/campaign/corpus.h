// SPDX-License-Identifier: Apache-2.0
// A folder of cases that failed once: replayed first, and one file more for each new failure.
#pragma once

#include <string>

#include "mote/oracle/campaign.h"

namespace mote {

/// The same on every machine.
std::uint64_t hash_of(const std::string& text);

/// Writes the smallest case to a file of its own, unless there is one with that case. The file is
/// there as a whole or not at all. Throws Error where it cannot be written.
void add_to_corpus(const std::string& folder, const Failure& failure);

}  // namespace mote
