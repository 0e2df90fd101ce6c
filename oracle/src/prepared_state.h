// The data that a prepared case keeps.
#pragma once

#include <vector>

#include "buffer.h"
#include "mote/oracle/case.h"

namespace mote {

/// The elements that the case's fill gives its inputs, with what a gradient is given of its op's
/// outputs.
std::vector<Dense> filled_inputs(const Case& c, std::int64_t radius);

}  // namespace mote
