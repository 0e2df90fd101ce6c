// SPDX-License-Identifier: Apache-2.0
// gradient() and jvp(): their checks, and the walks that they are.
#include "mote/symbolic/gradient.h"

#include "fail.h"
#include "gradient/reverse.h"
#include "mote/symbolic/dependencies.h"

namespace mote {
namespace {

void check_real(const SymbolicGraph& graph, std::span<const TensorSymbol> symbols,
                const char* what) {
  for (const TensorSymbol symbol : symbols)
    if (const TensorForm& form = graph.form(symbol); !is_real(form.dtype))
      fail_graph(std::string("gradient: ") + what + " " + graph.text(symbol) + " is " +
                 to_string(form) + ", expected reals");
}

/// Checks one seed or tangent for each symbol.
void check_given(const SymbolicGraph& graph, std::span<const TensorSymbol> symbols,
                 std::span<const TensorSymbol> given, const char* what, bool may_be_empty) {
  if (given.size() != symbols.size())
    fail_graph("gradient: " + std::to_string(symbols.size()) + " " + what +
               "s are needed, one for each symbol, got " + std::to_string(given.size()));
  for (std::size_t k = 0; k < given.size(); ++k) {
    if (!given[k] && may_be_empty) continue;
    const TensorForm& form = graph.form(symbols[k]);
    const TensorForm& got = graph.form(given[k]);
    if (form.dtype != got.dtype || form.shape != got.shape)
      fail_graph(std::string("gradient: the ") + what + " of " + graph.text(symbols[k]) + " " +
                 to_string(form) + " is " + graph.text(given[k]) + " " + to_string(got));
  }
}

}  // namespace

std::vector<TensorSymbol> gradient(SymbolicGraph& graph, std::span<const TensorSymbol> of,
                                   std::span<const TensorSymbol> wrt,
                                   std::span<const TensorSymbol> seeds) {
  check_real(graph, of, "f");
  check_real(graph, wrt, "x");
  if (!seeds.empty()) check_given(graph, of, seeds, "seed", false);
  GraphBuilder builder(graph);
  std::vector<TensorSymbol> gradients =
      Reverse(builder, topological_order(graph), 0).run(of, seeds, wrt);
  for (std::size_t k = 0; k < wrt.size(); ++k)
    if (!gradients[k]) {
      const TensorForm& form = graph.form(wrt[k]);
      TensorForm zero(form.dtype, form.shape);
      zero.device = form.device;
      gradients[k] = graph.zeros(zero);
    }
  return gradients;
}

std::vector<TensorSymbol> gradient(SymbolicGraph& graph, std::initializer_list<TensorSymbol> of,
                                   std::initializer_list<TensorSymbol> wrt,
                                   std::initializer_list<TensorSymbol> seeds) {
  return gradient(graph, std::span(of.begin(), of.size()), std::span(wrt.begin(), wrt.size()),
                  std::span(seeds.begin(), seeds.size()));
}

}  // namespace mote
