// SPDX-License-Identifier: Apache-2.0
// The knobs of the fake driver, for tests that load it.
#pragma once

extern "C" {
/// From now on: the call number `call`, counted from 0, of the driver's and NVRTC's fails with the
/// status; a status that ends a context then comes from every later call. -1: none fails.
void fake_cuda_fail(int call, int status);
/// Calls since then.
int fake_cuda_calls();
/// Allocations and streams that are not given back, and contexts that are still current.
int fake_cuda_live();
/// Returns true if it was making a context current that failed: then nothing can be given back
/// either.
int fake_cuda_failed_to_enter();
}
