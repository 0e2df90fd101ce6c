// SPDX-License-Identifier: Apache-2.0
// A folder of cases that failed once: they are replayed first, and each new failure adds a file.
#pragma once

#include <string>

#include "mote/oracle/campaign.h"

namespace mote {

/// A hash that is the same on every machine.
std::uint64_t hash_of(const std::string& text);

/// Writes the smallest case to a file of its own, unless a file has that case. The file is written
/// atomically. Throws Error if it cannot be written.
void add_to_corpus(const std::string& folder, const Failure& failure);

}  // namespace mote
