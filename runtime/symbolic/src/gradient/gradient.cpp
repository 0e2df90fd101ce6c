// SPDX-License-Identifier: Apache-2.0
// gradient() and jvp(): their checks, and the walks that they are.
#include "mote/symbolic/gradient.h"

#include "borrow.h"
#include "check_known.h"
#include "fail.h"
#include "gradient/gradient_here.h"
#include "gradient/reverse.h"
#include "gradient/tape.h"
#include "gradient/unneeded.h"
#include "mote/symbolic/dependencies.h"

namespace mote {
namespace {

void check_real(const SymbolicGraph& graph, std::span<const TensorSymbol> symbols,
                const char* what) {
  for (const TensorSymbol symbol :
       symbols)  // a gradient has the shapes of what it is computed from
    check_known(graph, symbol, std::string("gradient: the shape of ") + what);
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

/// Returns zeros of the symbol's form for an empty gradient of it.
TensorSymbol or_zeros(SymbolicGraph& graph, TensorSymbol gradient, TensorSymbol of) {
  const TensorForm& form = graph.form(of);
  ShapeNote note{ShapeNoteKind::equals, of.index, each_axis(form.shape.size())};
  if (gradient) {
    note_shape(graph, gradient, note);
    return gradient;
  }
  TensorForm zero(form.dtype, form.shape);
  zero.device = form.device;
  const TensorSymbol zeros = graph.zeros(zero);
  note.kind = ShapeNoteKind::follows;
  note_shape(graph, zeros, note);
  return zeros;
}

/// Appends the changes of `of`, which are jvp()'s.
std::vector<TensorSymbol> changes_of(SymbolicGraph& graph, std::span<const TensorSymbol> of,
                                     std::span<const TensorSymbol> wrt,
                                     std::span<const TensorSymbol> tangents) {
  const Added added(graph);
  GraphBuilder builder(graph);
  // J^T u is linear in u, so that its gradient J t is the same for all u. Nothing reads u but
  // kernels that could do without.
  std::vector<TensorSymbol> u;
  for (const TensorSymbol symbol : of) u.push_back(or_zeros(graph, {}, symbol));
  const std::vector<TensorSymbol> back =
      Reverse(builder, topological_order(graph), 0).run(of, u, wrt);
  std::vector<TensorSymbol> results;
  std::vector<TensorSymbol> seeds;
  for (std::size_t k = 0; k < back.size(); ++k) {
    if (!back[k] || !tangents[k]) continue;
    results.push_back(back[k]);
    seeds.push_back(tangents[k]);
  }
  std::vector<TensorSymbol> changes =
      differentiate_new(builder, added.first_symbol(), added.first_node(), results, seeds, u);
  for (std::size_t k = 0; k < of.size(); ++k) changes[k] = or_zeros(graph, changes[k], of[k]);
  added.remove_unneeded(graph, changes);
  return changes;
}

}  // namespace

std::vector<TensorSymbol> gradient_here(SymbolicGraph& graph, std::span<const TensorSymbol> of,
                                        std::span<const TensorSymbol> wrt,
                                        std::span<const TensorSymbol> seeds) {
  check_real(graph, of, "f");
  check_real(graph, wrt, "x");
  if (!seeds.empty()) check_given(graph, of, seeds, "seed", false);
  const GradientScope scope;
  const Added added(graph);
  GraphBuilder builder(graph);
  std::vector<TensorSymbol> gradients =
      Reverse(builder, topological_order(graph), 0).run(of, seeds, wrt);
  for (std::size_t k = 0; k < wrt.size(); ++k) gradients[k] = or_zeros(graph, gradients[k], wrt[k]);
  added.remove_unneeded(graph, gradients);
  return gradients;
}

std::vector<TensorSymbol> gradient(SymbolicGraph& graph, std::span<const TensorSymbol> of,
                                   std::span<const TensorSymbol> wrt,
                                   std::span<const TensorSymbol> seeds) {
  return detail::change_whole(graph, [&] { return gradient_here(graph, of, wrt, seeds); });
}

std::vector<TensorSymbol> gradient(SymbolicGraph& graph, std::initializer_list<TensorSymbol> of,
                                   std::initializer_list<TensorSymbol> wrt,
                                   std::initializer_list<TensorSymbol> seeds) {
  return gradient(graph, std::span(of.begin(), of.size()), std::span(wrt.begin(), wrt.size()),
                  std::span(seeds.begin(), seeds.size()));
}

std::vector<TensorSymbol> jvp(SymbolicGraph& graph, std::span<const TensorSymbol> of,
                              std::span<const TensorSymbol> wrt,
                              std::span<const TensorSymbol> tangents) {
  check_real(graph, of, "f");
  check_real(graph, wrt, "x");
  check_given(graph, wrt, tangents, "tangent", true);
  const GradientScope scope;
  return detail::change_whole(graph, [&] { return changes_of(graph, of, wrt, tangents); });
}

std::vector<TensorSymbol> jvp(SymbolicGraph& graph, std::initializer_list<TensorSymbol> of,
                              std::initializer_list<TensorSymbol> wrt,
                              std::initializer_list<TensorSymbol> tangents) {
  return jvp(graph, std::span(of.begin(), of.size()), std::span(wrt.begin(), wrt.size()),
             std::span(tangents.begin(), tangents.size()));
}

}  // namespace mote
