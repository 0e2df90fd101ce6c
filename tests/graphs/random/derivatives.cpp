// SPDX-License-Identifier: Apache-2.0
// Gradients, forward mode and second derivatives of graphs whose arithmetic is exact.
#include <string>
#include <utility>
#include <vector>

#include "exact_numbers.h"
#include "graph_data.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "tangents.h"

namespace mote::test {
namespace {

/// Returns an integer of -2 to 2 for each element.
Tensor small_integers(const TensorForm& form, const std::string& name, std::uint64_t seed) {
  const Tensor x(form.dtype, form.shape);
  fill_tensor(x, name, {FillName::integer, seed});
  return x;
}

struct Directions {
  std::vector<TensorSymbol> of, wrt, seeds, tangents;
  std::vector<TensorBinding> values, seed_values, directions, tangent_values;
};

Directions choose(SymbolicGraph& g, std::uint64_t seed) {
  Directions d;
  for (const TensorSymbol output : g.outputs())
    if (g.form(output).dtype == DType::f64) d.of.push_back(output);
  for (std::uint32_t k = 0; k < g.symbol_count(); ++k)
    if (g.symbols()[k].kind == SymbolOrigin::input && g.symbols()[k].form->dtype == DType::f64)
      d.wrt.push_back(g.at(k));
  for (const InputValue& input : input_values(g, {FillName::integer, seed}))
    d.values.emplace_back(g.at(input.symbol), input.value);
  for (const TensorSymbol x : d.wrt) {
    const std::string name = "direction of " + g.text(x);
    d.tangents.push_back(g.input(name, {DType::f64, g.form(x).shape}));
    const Tensor v = small_integers(g.form(d.tangents.back()), name, seed);
    d.tangent_values.emplace_back(d.tangents.back(), v);
    d.directions.emplace_back(x, v);
  }
  for (const TensorSymbol y : d.of) {
    const std::string name = "seed " + std::to_string(d.seeds.size());
    d.seeds.push_back(g.input(name, {DType::f64, g.form(y).shape}));
    d.seed_values.emplace_back(d.seeds.back(), small_integers(g.form(d.seeds.back()), name, seed));
  }
  return d;
}

std::vector<Tensor> evaluated(const SymbolicGraph& g, const Directions& d,
                              const std::vector<TensorSymbol>& of) {
  std::vector<TensorBinding> bindings = d.values;
  bindings.insert(bindings.end(), d.seed_values.begin(), d.seed_values.end());
  bindings.insert(bindings.end(), d.tangent_values.begin(), d.tangent_values.end());
  return evaluate(g, bindings, of);
}

/// Returns what the check finds; nothing, with the reason, if it cannot be decided.
template <typename Check>
std::optional<std::string> if_decided(std::string& why_not, const Check& check) {
  try {
    return check();
  } catch (const Undecided& undecided) {
    why_not = undecided.why;
  } catch (const StatusError& e) {
    if (e.status() != MOTE_UNSUPPORTED) throw;
    why_not = e.what();
  }
  return std::nullopt;
}

/// Throws Undecided if there is nothing to differentiate.
void require_some(const Directions& d) {
  if (d.of.empty() || d.wrt.empty()) throw Undecided{"no real output or input"};
}

/// Returns the tangents; throws Undecided if they are not exact.
Tangents decided(Tangents tangents) {
  if (!tangents.why_not.empty()) throw Undecided{tangents.why_not};
  return tangents;
}

}  // namespace

std::optional<std::string> check_derivatives(const SymbolicGraph& graph, std::uint64_t seed,
                                             std::string& why_not) {
  SymbolicGraph g = graph;
  const Directions d = choose(g, seed);
  return if_decided(why_not, [&]() -> std::optional<std::string> {
    require_some(d);
    const Tangents truth = decided(exact_tangents(g, d.values, d.directions, d.of));
    const std::vector<TensorSymbol> back = gradient(g, d.of, d.wrt, d.seeds);
    const std::vector<TensorSymbol> forth = jvp(g, d.of, d.wrt, d.tangents);
    verify(g);
    const std::vector<Tensor> gradients = evaluated(g, d, back);
    const std::vector<Tensor> changes = evaluated(g, d, forth);
    double by_output = 0;
    for (std::size_t k = 0; k < d.of.size(); ++k) {
      by_output += inner(truth.of[k], d.seed_values[k].second);
      const Tensor got = clone(changes[k]);
      for (std::size_t i = 0; i < elements(got).size(); ++i)
        if (elements(got)[i] != elements(truth.of[k])[i])
          return "jvp of " + g.text(d.of[k]) + " element " + std::to_string(i) + " is " +
                 std::to_string(elements(got)[i]) + " instead of " +
                 std::to_string(elements(truth.of[k])[i]);
    }
    double by_input = 0;
    for (std::size_t k = 0; k < d.wrt.size(); ++k)
      by_input += inner(gradients[k], d.directions[k].second);
    if (by_output != by_input)
      return "<J v, w> is " + std::to_string(by_output) + " but <v, gradient> is " +
             std::to_string(by_input);
    return std::nullopt;
  });
}

std::optional<std::string> check_second_order(const SymbolicGraph& graph, std::uint64_t seed,
                                              std::string& why_not) {
  SymbolicGraph g = graph;
  const Directions d = choose(g, seed);
  return if_decided(why_not, [&]() -> std::optional<std::string> {
    require_some(d);
    (void)decided(exact_tangents(g, d.values, d.directions, d.of));
    // The other direction: other numbers for each input.
    std::vector<TensorSymbol> others;
    std::vector<TensorBinding> bindings = d.values;
    std::vector<TensorBinding> other_directions;
    for (const TensorSymbol x : d.wrt) {
      const std::string name = "other direction of " + g.text(x);
      others.push_back(g.input(name, {DType::f64, g.form(x).shape}));
      const Tensor u = small_integers(g.form(others.back()), name, seed);
      bindings.emplace_back(others.back(), u);
      other_directions.emplace_back(x, u);
    }
    (void)decided(exact_tangents(graph, d.values, other_directions, d.of));
    const std::vector<TensorSymbol> back = gradient(g, d.of, d.wrt, d.seeds);
    std::vector<TensorSymbol> asked = jvp(g, back, d.wrt, d.tangents);
    const std::vector<TensorSymbol> of_others = jvp(g, back, d.wrt, others);
    asked.insert(asked.end(), of_others.begin(), of_others.end());
    verify(g);
    bindings.insert(bindings.end(), d.seed_values.begin(), d.seed_values.end());
    bindings.insert(bindings.end(), d.tangent_values.begin(), d.tangent_values.end());
    const std::vector<Tensor> values = evaluate(g, bindings, asked);
    double u_h_v = 0;
    double v_h_u = 0;
    for (std::size_t k = 0; k < d.wrt.size(); ++k) {
      u_h_v += inner(other_directions[k].second, values[k]);
      v_h_u += inner(d.directions[k].second, values[d.wrt.size() + k]);
    }
    if (u_h_v != v_h_u)
      return "<u, H v> is " + std::to_string(u_h_v) + " but <v, H u> is " + std::to_string(v_h_u);
    if (u_h_v == 0) why_not = "the second derivative is 0";
    return std::nullopt;
  });
}

}  // namespace mote::test
