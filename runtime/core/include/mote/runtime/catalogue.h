// SPDX-License-Identifier: Apache-2.0
// The ops that were generated at build time, as attributes in a registry.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "mote/base/dtype.h"
#include "mote/base/export.h"
#include "mote/base/kernel.h"
#include "mote/base/ops.h"
#include "mote/base/registry.h"
#include "mote/base/tensor_mask.h"
#include "mote/runtime/registry.h"

namespace MOTE_API mote {

/// "definition": what run() goes by. A plug-in's op has one too.
using Definition = const mote_op_definition*;
inline constexpr const char* kDefinition = "definition";
/// "in_place": (input, output) pairs that may share memory.
using InPlacePairs = std::vector<std::pair<int, int>>;
inline constexpr const char* kInPlace = "in_place";

/// "generated": the kernels made at build time, one for each dtype of the instance and mask of
/// inputs (bit k: input k is there).
struct GeneratedKernel {
  DType dtype;
  TensorMask input_mask;
  TensorMask output_mask;  ///< the op's outputs that are among the kernel's
  const mote_kernel* fast;
  const mote_kernel* oracle;
};
using GeneratedKernels = std::vector<GeneratedKernel>;
inline constexpr const char* kGenerated = "generated";

/// "gradient": the op that is the gradient of this one, and which tensors it takes and gives. Ops
/// have none that nothing flows through, and gradients beyond those that kernels were made for.
using Gradient = const mote_op_gradient*;
inline constexpr const char* kGradient = "gradient";
/// The group of all ops that are gradients.
inline constexpr const char* kGradients = "gradients";

/// Every op of the library, with its family as its group, and the gradients of ops, with kGradients
/// as theirs. Attributes: "definition", "in_place", "generated", "gradient", and "infer" (infer.h).
/// The library (its table, its code) stays as long as the registry. Throws StatusError, before
/// anything is registered, where an op of that name is there already and for a table that is none.
/// Where memory ends in the midst, the ops so far are there, and the same call goes on with the
/// rest. An attribute that the program has registered at the default level stays.
void register_library(const mote_kernel_library& library, Registry& registry = Registry::global());
/// The library that is part of mote.
void register_catalogue(Registry& registry);

}  // namespace mote
