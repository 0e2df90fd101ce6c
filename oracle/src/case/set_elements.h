// SPDX-License-Identifier: Apache-2.0
// Elements that a case sets by themselves: set=x[0,1]=2;w[3]=0.5.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mote/oracle/case.h"
#include "run/buffer.h"

namespace mote {

/// Of a case whose inputs are known. Throws Error for what is no element of an input, or no value.
std::vector<SetElement> parse_set(const Case& c, std::string_view text);
std::string to_string(const std::vector<SetElement>& set);
/// The values of tensor t, where the fill has been written.
void apply_set(const Case& c, const CaseTensor& t, Dense& values);

}  // namespace mote
