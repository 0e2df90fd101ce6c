// SPDX-License-Identifier: Apache-2.0
// The names of the variants in which mote generates a kernel, and their names before 0.2, which
// files and command lines may still have; they are read until 0.4.
#pragma once

#include <string_view>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// Reals in double, integers in wrapping 64-bit, nothing reordered: what others are judged by.
inline constexpr std::string_view kReference = "reference";
/// Scheduled, in the dtype's own precision; the kernels of the backend gen.
inline constexpr std::string_view kGen = "gen";

/// Returns the present name for a variant's or backend's former one; any other name as it is.
constexpr std::string_view current_name(std::string_view name) {
  if (name == "oracle") return kReference;
  if (name == "fast") return kGen;
  return name == "cuda_oracle" ? "cuda_reference" : name;
}

}  // namespace mote
