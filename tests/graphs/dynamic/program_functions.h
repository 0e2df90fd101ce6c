// SPDX-License-Identifier: Apache-2.0
// The functions that random programs call: the caller's code, static graphs, and the caller's code
// on variables within a static graph.
#pragma once

#include <memory>

#include "mote/dynamic/dynamic_graph.h"

namespace mote::test {

/// x·x, with a gradient.
std::shared_ptr<const NamedFunction> square_function();
/// x·x + x as a static graph, for tensors of that rank.
StaticFunction static_function(DType dtype, int rank);
/// x·x·(x + x), whose gradient reads two tensors of one form within it.
StaticFunction product_function(DType dtype, int rank);
/// x·x·x as a static graph with a loop, whose way back reads a tape.
StaticFunction loop_function(DType dtype, int rank);
/// x·x + x, computed on variables in a function of a static graph. The context must outlive it.
StaticFunction nested_function(Context& context, DType dtype, int rank);

}  // namespace mote::test
