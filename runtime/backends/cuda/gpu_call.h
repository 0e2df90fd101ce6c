// SPDX-License-Identifier: Apache-2.0
// One call of a generated kernel on the GPU.
#pragma once

#include "catalogue_kernels.h"
#include "device_call.h"
#include "plan.h"

namespace mote::cuda {

/// Passes the plan's launches to run_on_device().
backend::Check run_on_gpu(const mote_call& call, void* stream, const OpInstance& instance,
                          Variant variant, const Plan& plan);

}  // namespace mote::cuda
