// One call on the GPU: tensors of the host are copied there and back; tensors of the GPU are used
// where they are, on the caller's stream.
#pragma once

#include "catalogue_kernels.h"
#include "plan.h"

namespace mote::cuda {

/// Whether the tensors are the GPU's; a refusal where some are and some are not, or are neither the
/// GPU's nor the host's.
backend::Check find_place(const mote_call& call, bool& on_gpu);

/// Refusals name the kernel: MOTE_OUT_OF_MEMORY where the GPU's memory is not enough, else
/// MOTE_FAILED. After an error that ends the GPU's context each later call is MOTE_FAILED, and says
/// so. On the host's tensors the result is complete on return.
backend::Check run_on_gpu(const mote_call& call, void* stream, const OpInstance& instance,
                          Variant variant, const Plan& plan);

}  // namespace mote::cuda
