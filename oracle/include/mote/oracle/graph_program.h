// SPDX-License-Identifier: Apache-2.0
// A symbolic graph without control flow is an op: its nodes, put into each other, are one program,
// which is evaluated, differentiated and bounded as any other.
//
//   const auto inlined = program_of(g, {loss});
//   if (const auto* p = std::get_if<GraphProgram>(&inlined))
//     evaluate(p->program, input_arrays(g, *p, {{x, images}}), {});
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "mote/base/error.h"
#include "mote/base/export.h"
#include "mote/symbolic/binding.h"
#include "mote/symbolic/symbolic_graph.h"
#include "mote/uops/evaluate.h"
#include "mote/uops/program.h"

namespace MOTE_API mote {

/// The most nodes of a graph, and of uops of its program, that are put into one program.
inline constexpr std::size_t kMaxInlinedNodes = 4096;
inline constexpr std::size_t kMaxInlinedUops = 100'000;

struct GraphProgram {
  /// All sizes are constant. Outputs are those asked for, in their order; inputs are those inputs
  /// and constants of the graph that they depend on, by index. Names are the symbols' names, with
  /// "_" for what cannot stand in a program's name, and appended to names that are taken, end in a
  /// digit, or are words of program text.
  Program program;
  std::vector<TensorSymbol> inputs;  ///< the symbol of each input of the program
};

/// The formulas of nodes by index, where they are not the op's definition: names of forms of their
/// ops (Form), as a kernel's contract gives them.
using NodeForms = std::map<std::uint32_t, std::string>;

/// Returns the program that computes the symbols. Each node's op is its record of the catalogue,
/// and what it writes is rounded to the symbol's dtype; views read elements in place, and a
/// constant of one element is a number. Returns the reason, with the node, if a node is a function
/// or its op has no record or no such instance, and if the program would have too many nodes or too
/// long a chain of them. Throws StatusError for a handle of another graph.
std::variant<GraphProgram, Reason> program_of(const SymbolicGraph& graph,
                                              std::span<const TensorSymbol> outputs,
                                              const NodeForms& forms = {});
std::variant<GraphProgram, Reason> program_of(const SymbolicGraph& graph,
                                              std::initializer_list<TensorSymbol> outputs);

/// Returns the elements of a tensor on the host.
Array array_of(const Tensor& tensor);
/// Returns the program's inputs from the tensors that are bound and the graph's constants. Throws
/// StatusError for an input that is not bound.
std::vector<Array> input_arrays(const SymbolicGraph& graph, const GraphProgram& inlined,
                                std::span<const TensorBinding> bindings);

}  // namespace mote
