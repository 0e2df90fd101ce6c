// SPDX-License-Identifier: Apache-2.0
// The library lib/mote/cuda_shim.so, for .cu files that run on the shim: launches, and a call that
// is made in several orders of threads. One call runs at a time.
#pragma once

#include "mote/base/kernel.h"
#include "shim/mote_cuda_host.h"

extern "C" {

struct mote_host_grid;

/// Makes the call twice: with the threads of every launch forward, and in reverse or in a random
/// order, alternating between calls. An error that the shim finds, outputs that depend on the
/// order, and an error passed to mote_host_returned() are MOTE_FAILED, with a message. Both times
/// the outputs begin with their content before the call. If the outputs are larger than 32 KiB, the
/// call is made once: forward, in reverse or in a random order, in turn, and the oracle compares
/// its calls of a case. It is also made once if `compares_orders` is 0, since such a function may
/// round by the order.
MOTE_PLUGIN_EXPORT mote_status mote_host_run(mote_status (*run)(const mote_call*, void*),
                                             const mote_call* call, int compares_orders);
/// Notes the status that a function of the user returned: an error, unless 0.
MOTE_PLUGIN_EXPORT int mote_host_returned(int status);

// mote_launch.h declares these functions too.
MOTE_PLUGIN_EXPORT const mote_host_calls* mote_host_shim();
MOTE_PLUGIN_EXPORT int mote_host_launch(const mote_host_grid* grid, void (*body)(void*),
                                        void* context);
MOTE_PLUGIN_EXPORT int mote_host_error();
}
