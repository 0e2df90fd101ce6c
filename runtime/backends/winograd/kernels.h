// SPDX-License-Identifier: Apache-2.0
// The one kernel of this backend.
#pragma once

#include <cstddef>

#include "mote/base/kernel.h"

namespace mote::winograd {

mote_status can_run_conv2d(const mote_call* call);
std::size_t workspace_of_conv2d(const mote_call* call);
mote_status run_conv2d(const mote_call* call, void* stream);

}  // namespace mote::winograd
