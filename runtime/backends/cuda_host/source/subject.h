// SPDX-License-Identifier: Apache-2.0
// What a .cu file that runs on the shim is linked with, as lib/mote/cuda_shim.so: launches, and a
// call that is made in several orders of threads. One call runs at a time.
#pragma once

#include "mote/base/kernel.h"
#include "shim/mote_cuda_host.h"

extern "C" {

struct mote_host_grid;

/// Makes the call twice: with the threads of every launch forward, and in reverse or in a random
/// order, by turns from call to call. A launch that the shim finds wrong, outputs that depend on
/// the order, and what mote_host_returned() was told are MOTE_FAILED, with a message. Both times
/// the outputs hold what they held before the call. Where they are larger than 32 KiB, once:
/// forward, in reverse or in a random order, by turns, and the oracle compares its calls of a case;
/// once too where `compares_orders` is 0, since such a function may round by the order.
MOTE_PLUGIN_EXPORT mote_status mote_host_run(mote_status (*run)(const mote_call*, void*),
                                             const mote_call* call, int compares_orders);
/// A function of the user's returned this: an error, unless 0.
MOTE_PLUGIN_EXPORT int mote_host_returned(int status);

// As mote_launch.h declares them.
MOTE_PLUGIN_EXPORT const mote_host_calls* mote_host_shim();
MOTE_PLUGIN_EXPORT int mote_host_launch(const mote_host_grid* grid, void (*body)(void*),
                                        void* context);
MOTE_PLUGIN_EXPORT int mote_host_error();
}
