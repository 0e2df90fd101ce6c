// SPDX-License-Identifier: Apache-2.0
// The kernels of this backend, as plugin.cpp's table lists them. Equations are in their files.
#pragma once

#include "mote/base/kernel.h"
#include "support/call.h"

namespace mote::openblas {

using namespace backend;  // for support/call.h, which reads calls

mote_status can_run_gemm(const mote_call* call);
mote_status run_gemm(const mote_call* call, void* stream);

mote_status can_run_matmul(const mote_call* call);
mote_status run_matmul(const mote_call* call, void* stream);

mote_status can_run_conv2d(const mote_call* call);
std::size_t workspace_of_conv2d(const mote_call* call);
mote_status run_conv2d(const mote_call* call, void* stream);

}  // namespace mote::openblas
