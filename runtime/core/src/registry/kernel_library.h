// SPDX-License-Identifier: Apache-2.0
// A library of generated kernels as it comes from outside: access to its lists, and the checks that
// they are well-formed.
#pragma once

#include <cstddef>
#include <span>

#include "mote/base/registry.h"

namespace mote {

/// Throws StatusError "library NAME: …" if a list, a name or a function is missing, a count is
/// negative, a tensor's rank or a pair's index is out of range, or an axis has no extent.
void check_library(const mote_kernel_library& library);

// These functions need a library that was checked.
inline std::span<const mote_op_definition> ops_of(const mote_kernel_library& library) {
  return {library.ops, static_cast<std::size_t>(library.op_count)};
}
inline std::span<const mote_generated_kernel> kernels_of(const mote_kernel_library& library) {
  return {library.kernels, static_cast<std::size_t>(library.kernel_count)};
}
inline std::span<const mote_op_gradient> gradients_of(const mote_kernel_library& library) {
  return {library.gradients, static_cast<std::size_t>(library.gradient_count)};
}

}  // namespace mote
