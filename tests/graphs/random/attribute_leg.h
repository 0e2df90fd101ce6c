// SPDX-License-Identifier: Apache-2.0
// Memory that is planned by an attribute, which passes make out of date.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/random/rng.h"
#include "graph_legs.h"

namespace mote::test {

/// Returns a leg that runs mote's passes in some order. Between them, and behind them, memory is
/// planned by the lifetimes of tensors, which a pass of its own finds and keeps as an attribute.
std::string some_attribute_leg(Rng& rng);
/// Returns why a plan does not suit the graph that it was made for: the lifetimes were those of
/// another structure.
std::optional<std::string> check_attributes(const GraphSubject& subject, const std::string& list,
                                            Counts& counts);
std::vector<std::string> counted_by_attribute_leg();

/// Splits "a,b".
std::vector<std::string> names_in(const std::string& list);
/// Joins them again.
std::string list_of(const std::vector<std::string>& names);
/// The names of mote's passes, sorted.
std::vector<std::string> own_passes();

}  // namespace mote::test
