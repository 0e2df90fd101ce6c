// SPDX-License-Identifier: Apache-2.0
// The text of a symbolic graph. What the printer writes reads back as a graph with the same nodes
// in the same order, the same views, constants, order-only edges and outputs; that graph prints as
// the same text.
//
//   graph mlp(x f32[32,784], w f32[784,10], s f32[?], e f32[8,4,5,5]) -> (r)
//     h = matmul(x, w)                          # a node and its outputs; _ is one that is left out
//     y, mask = dropout(e, ratio=0.1, seed=7)   # parameters by name; axis=1; dtype=f16 where the
//     n = softmax(h, axis=1)                    # dtype does not follow from inputs
//     v = n.slice(0, 0, 16, 1)                  # views: slice, select, permute, broadcast, reshape
//     p = tensor f32[4,4]                       # for nodes to write with <-, whole or by views
//     z = zeros f32[4,4]:1,4@2:0                # strides that are not row-major, and a device
//     c = constant f32[2] [1, -nan]             # elements in row-major order, exact
//     q = copy(x, f16[32,784])                  # also: p <- copy(v)
//     k = fill(f32[4], 1.5)                     # also: p <- fill(1.5)
//     p <- function "mine"(x, _)                # the caller's code, by name
//     i, a = while (k, x) limit 9 {             # control.h; "counter" if the body counts
//       graph step(i i64[], a f32[4]) -> (j, b, go)
//         …
//     }
//     d = case (i) else (a) of (a, r) {         # a branch and its inputs, for each index
//       graph one(a f32[4], r f32[4]) -> (c)
//         …
//     } of () {
//       …
//     }
//     @step: p <- relu(z) recompute 2 after h   # a node's name, its segment, order-only edges
//     r = add(n, s) after @step                 # after the node that is named step
//
// A name that is no identifier stands in quotes. A node that another one comes after, and that has
// no output, gets a label: "@n3 "": …" is node n3 of the text without a name. `#` opens a comment.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mote/base/export.h"
#include "mote/symbolic/symbolic_graph.h"

namespace MOTE_API mote {

/// Writes the graph. Symbols without a name get "t<index>", with underscores behind it if another
/// symbol has that name. The elements of a constant on a device are fetched. NaNs keep their sign.
std::string to_text(const SymbolicGraph& graph);

/// Returns a line for each node, "h = matmul(x, w)", for people; empty for one that was removed.
std::vector<std::string> node_texts(const SymbolicGraph& graph);

/// Reads what to_text wrote. `functions` are the caller's code that the text may name. Throws
/// StatusError "graph text: line 3, column 7: what, got, expected". It does not verify the graph
/// (dependencies.h). Time and memory are in proportion to the text, but that constants with gaps
/// between their elements may take kMaxConstantGaps bytes more, together.
/// Graphs are at most kMaxNesting (control.h) deep inside each other.
SymbolicGraph parse_graph(std::string_view text, const Registry& registry = Registry::global(),
                          std::span<const NamedFunction> functions = {});

/// The bytes between elements of constants that parse_graph may allocate.
inline constexpr std::int64_t kMaxConstantGaps = std::int64_t{1} << 28;

}  // namespace mote
