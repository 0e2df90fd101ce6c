// SPDX-License-Identifier: Apache-2.0
// Elements that a case sets individually: set=x[0,1]=2;w[3]=0.5.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mote/oracle/case.h"
#include "run/buffer.h"

namespace mote {

/// Parses the elements of a case whose inputs are known. Throws Error for an element that does not
/// exist, and for an invalid value.
std::vector<SetElement> parse_set(const Case& c, std::string_view text);
std::string to_string(const std::vector<SetElement>& set);
/// Writes the set elements of tensor t over its fill.
void apply_set(const Case& c, const CaseTensor& t, Dense& values);

}  // namespace mote
