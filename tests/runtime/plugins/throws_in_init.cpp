// SPDX-License-Identifier: Apache-2.0
// A plug-in whose first call throws.
#include <stdexcept>

#include "mote/base/kernel.h"

extern "C" mote_status mote_plugin_init(mote_plugin*) { throw std::runtime_error("no licence"); }
