// The table of ops (mote/base/ops.h) as C.
#pragma once

#include <string>

namespace mote {

std::string ops_text();

}  // namespace mote
