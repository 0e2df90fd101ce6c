// SPDX-License-Identifier: Apache-2.0
// Values, derivatives and the bytes of tapes of graphs with loops, and such graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mote/symbolic/compile.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote::test {

using Inputs = std::vector<std::pair<std::string, Tensor>>;
using Numbers = std::vector<double>;
using Symbols = std::vector<TensorSymbol>;

std::vector<TensorBinding> bindings_of(const SymbolicGraph& g, const Inputs& inputs);
/// Appends the elements of x.
void append(Numbers& numbers, const Tensor& x);
/// Returns the values of the graph's outputs, evaluated. The graph is compiled, and read back from
/// its text, too: the values must be equal.
Numbers values_of(const SymbolicGraph& g, const Inputs& inputs);
/// Evaluates the graph, and compiles it with several settings and runs each twice: all must agree
/// in bits. Returns the outputs; `copied` gets the bytes that a compiled one copies.
std::vector<Tensor> run_all_ways(const SymbolicGraph& g, const Inputs& inputs,
                                 std::size_t* copied = nullptr);
/// Does the same with the graph of a text, which must be read back as it is printed.
std::vector<Tensor> run_all_ways(const std::string& text, const Inputs& inputs,
                                 std::size_t* copied = nullptr);
/// Returns the derivatives of `of`, of that order, with respect to x, each time of their sum.
Numbers derivative(const std::string& text, const std::string& of, const std::string& x, int order,
                   const Inputs& inputs);
/// Returns the most bytes that tapes kept while the graph ran.
std::int64_t most_bytes(const SymbolicGraph& g, const Inputs& inputs);

/// Returns the text of y = f(x w + x), n times, as a loop.
std::string loop_of(std::int64_t n, const std::string& function = "tanh");
/// Returns the text of the same with a node for each step.
std::string unrolled(std::int64_t n, const std::string& function = "tanh");

/// y = x w^(2 n)
inline constexpr const char* kLoopsInLoops = R"(graph g(x f32[], w f32[], n i64[]) -> (y)
  y = while (x, w, n) counter {
    graph outer(x f32[], w f32[], n i64[], c i64[]) -> (y, left)
      left = sub(n, c)
      y = while (x, w) counter {
        graph inner(x f32[], w f32[], c i64[]) -> (y, left)
          two = constant i64[] [2]
          left = sub(two, c)
          y = mul(x, w)
      }
  }
)";

}  // namespace mote::test
