// SPDX-License-Identifier: Apache-2.0
// Cases that differ from another one in sizes or parameters only: layouts, fill, elements that are
// set, tensors that are left out or share memory go along as far as the new shapes allow it.
#pragma once

#include <optional>
#include <string>

#include "mote/oracle/generate.h"

namespace mote {

/// The draft's case; nullopt where it is not legal.
std::optional<Case> like(const Draft& draft, const Case& from);

/// With that value of a knob of its domain.
std::optional<Case> with_knob(const Case& from, std::size_t knob, std::int64_t value);
/// With that value of a free size, all others as they are.
std::optional<Case> with_size(const Case& from, Symbol size, std::int64_t value);
/// With that value of a parameter and the same free sizes, else with the same derived ones.
std::optional<Case> with_param(const Case& from, const std::string& name, const Number& value);

}  // namespace mote
