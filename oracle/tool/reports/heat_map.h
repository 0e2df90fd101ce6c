// SPDX-License-Identifier: Apache-2.0
// Pictures of a failure: where the wrong elements lie, and each error beside what the bound allows.
#pragma once

#include <pugixml.hpp>

#include "mote/oracle/run.h"

namespace mote::tool {

/// |got - expected| / allowed; infinity where nothing is allowed or a value is not finite.
double severity(const Difference& d);

/// A grid for each output that has wrong elements: a row for each index of all axes but the last, a
/// column for each of the last. Larger outputs are drawn with several elements a square.
void add_heat_maps(pugi::xml_node parent, const Case& c, const Outcome& outcome);

/// For the first wrong elements: error and allowance as bars on one logarithmic scale.
void add_errors(pugi::xml_node parent, const Outcome& outcome);

}  // namespace mote::tool
