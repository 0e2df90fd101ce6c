// SPDX-License-Identifier: Apache-2.0
// Judges the results of a whole graph by the error bound of its program, as `mote check` judges
// those of one op: independent of the order of nodes, their memory and their gradients' formulas.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "mote/base/error.h"
#include "mote/base/export.h"
#include "mote/runtime/context.h"
#include "mote/symbolic/binding.h"
#include "mote/symbolic/symbolic_graph.h"

namespace MOTE_API mote {

/// The most uops of a program whose bound is made, and of elements that computing it visits.
inline constexpr std::size_t kMaxBoundedUops = 10'000;
inline constexpr double kMaxBoundedElements = 1e9;

struct GraphBoundVerdict {
  std::int64_t judged = 0;  ///< elements about which the bound says something
  std::int64_t open = 0;    ///< others
  /// The first element that is outside: "y: element [0,3]: got 2, the bound is 1..1.5; 2 of 8".
  std::optional<std::string> failure;
};

/// The ends of the intervals of one output's elements, in row-major order, before they are rounded
/// to its dtype: the exact result, and every one that a kernel of those contracts may compute, lies
/// within. Both are NaN or infinite where nothing is known.
struct OutputBounds {
  std::vector<double> low;
  std::vector<double> high;
};

/// Returns the bounds of the graph's outputs, in their order, by which judge_by_bound() judges; the
/// same reasons and errors.
std::variant<std::vector<OutputBounds>, Reason> bounds_of(const SymbolicGraph& graph,
                                                          std::span<const TensorBinding> bindings,
                                                          Context& context);

/// Judges `results`, the tensors of the graph's outputs in their order, that were computed from the
/// bindings by the kernels that the context chooses. The bound is that of their contracts: the
/// formulas that they name, or for an element that is refused the definitions of the ops, and of
/// all other promises the weakest. Returns the reason if nothing can be judged: the graph is no
/// program (program_of), the bound is too large, or contracts of different accumulators have no
/// common bound. Throws StatusError as run() does.
std::variant<GraphBoundVerdict, Reason> judge_by_bound(const SymbolicGraph& graph,
                                                       std::span<const TensorBinding> bindings,
                                                       std::span<const Tensor> results,
                                                       Context& context);

}  // namespace mote
