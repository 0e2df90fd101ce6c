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

/// "definition": the op's definition, which run() obeys. An op of a plug-in has one too.
using Definition = const mote_op_definition*;
inline constexpr OpAttribute<Definition> kDefinition{"definition"};
/// "in_place": the (input, output) pairs that may share memory.
using InPlacePairs = std::vector<std::pair<int, int>>;
inline constexpr OpAttribute<InPlacePairs> kInPlace{"in_place"};

/// "generated": the kernels made at build time, one for each dtype of the instance and mask of
/// inputs (bit k: input k is present).
struct GeneratedKernel {
  DType dtype;
  TensorMask input_mask;
  TensorMask output_mask;  ///< the outputs of the op that the kernel has
  const mote_kernel* gen;  ///< null if the op has none for the dtype
  const mote_kernel* reference;
};
using GeneratedKernels = std::vector<GeneratedKernel>;
inline constexpr OpAttribute<GeneratedKernels> kGenerated{"generated"};

/// "gradient": the op that is the gradient of this one, and the tensors that it takes and gives.
/// Ops through which no gradient flows have none, and neither do gradients whose own gradients have
/// no generated kernels.
using OpGradient = const mote_op_gradient*;
inline constexpr OpAttribute<OpGradient> kGradient{"gradient"};
/// "gradient_of": the row of which this op is the gradient. Its mask `reads` tells the inputs whose
/// data a kernel reads from those of which only the shape is needed.
inline constexpr OpAttribute<OpGradient> kGradientOf{"gradient_of"};
/// "zero_gradient": true for an op through which no gradient flows by its definition, such
/// as a comparison. An op that has neither this nor a gradient is one whose gradient is not known.
inline constexpr OpAttribute<bool> kZeroGradient{"zero_gradient"};
/// The group of all ops that are gradients.
inline constexpr const char* kGradients = "gradients";

/// Registers every op of the library with its family as its group, and the gradients of ops with
/// kGradients as theirs. Sets the attributes "definition", "in_place", "generated", "gradient",
/// "gradient_of", and "infer" (infer.h); and "zero_gradient" for ops of a library that has
/// gradients, but none for them. An attribute that the program has registered at the default level
/// stays. The library (its table, its code) must stay as long as the registry. Throws StatusError,
/// before anything is registered, if an op of that name exists or the table is malformed. If memory
/// runs out, the ops registered so far stay, and the same call continues with the rest.
void register_library(const mote_kernel_library& library, Registry& registry = Registry::global());
/// Registers the library that is part of mote.
void register_catalogue(Registry& registry);

}  // namespace mote
