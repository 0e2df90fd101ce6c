// SPDX-License-Identifier: Apache-2.0
// Makes cases that differ from another one only in sizes or parameters: layouts, fill, set
// elements, and tensors that are left out or share memory are kept as far as the new shapes allow.
#pragma once

#include <optional>
#include <string>

#include "mote/oracle/generate.h"

namespace mote {

/// The draft's case; nullopt if it is not legal.
std::optional<Case> like(const Draft& draft, const Case& from);

/// The case with that value of a knob of its domain.
std::optional<Case> with_knob(const Case& from, std::size_t knob, std::int64_t value);
/// The case with that value of a free size, and all others unchanged.
std::optional<Case> with_size(const Case& from, Symbol size, std::int64_t value);
/// The case with that value of a parameter and the same free sizes, or otherwise the same derived
/// sizes.
std::optional<Case> with_param(const Case& from, const std::string& name, const Number& value);

}  // namespace mote
