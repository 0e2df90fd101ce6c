// SPDX-License-Identifier: Apache-2.0
// Draws pictures of a failure: the positions of the wrong elements, and each error next to the
// allowed one.
#pragma once

#include <pugixml.hpp>

#include "mote/oracle/run.h"

namespace mote::tool {

/// The error |got - expected| / allowed; infinity if nothing is allowed or a value is not finite.
double severity(const Difference& d);

/// Adds a grid for each output that has wrong elements: a row for each index of all axes except the
/// last, a column for each index of the last. Larger outputs have several elements a square.
void add_heat_maps(pugi::xml_node parent, const Case& c, const Outcome& outcome);

/// Adds the error and the allowance of the first wrong elements, as bars on one logarithmic scale.
void add_errors(pugi::xml_node parent, const Outcome& outcome);

}  // namespace mote::tool
