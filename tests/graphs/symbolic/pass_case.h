// SPDX-License-Identifier: Apache-2.0
// Applies a pass to a graph and compares every bit of the outputs with those of the graph before.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/pass.h"

namespace mote::test {

/// Returns the elements' bytes, in row-major order.
inline std::string bytes_of(const Tensor& tensor) {
  const Tensor flat = clone(tensor);
  const auto count = static_cast<std::size_t>(flat.element_count());
  return {static_cast<const char*>(flat.data()), count * size_of(flat.dtype())};
}

/// Binds every input of the graph to drawn numbers between -4 and 4.
inline std::vector<TensorBinding> drawn_inputs(const SymbolicGraph& g, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<TensorBinding> bindings;
  for (std::uint32_t k = 0; k < g.symbol_count(); ++k) {
    const SymbolInfo& info = g.symbols()[k];
    if (info.removed || info.kind != SymbolOrigin::input) continue;
    const Tensor flat(info.form->dtype, {element_count(info.form)});
    std::uniform_real_distribution<double> draw(-4, 4);
    for (std::int64_t i = 0; i < flat.element_count(); ++i) flat.set({i}, draw(random));
    bindings.emplace_back(g.at(k), flat.reshape(info.form->shape));
  }
  return bindings;
}

/// The outputs' bytes, for drawn inputs.
inline std::vector<std::string> results_of(const SymbolicGraph& g, unsigned seed) {
  const std::vector<TensorSymbol> outputs = g.outputs();
  std::vector<std::string> bytes;
  for (const Tensor& y : evaluate(g, drawn_inputs(g, seed), outputs)) bytes.push_back(bytes_of(y));
  return bytes;
}

/// Applies the passes, verifies the graph after each, and expects the same bits. Returns what the
/// last pass reports, and expects that it finds nothing more to do.
inline std::string apply_and_compare(SymbolicGraph& g, const std::vector<std::string>& names,
                                     const PassOptions& options = {}) {
  PassOptions verified = options;
  verified.verify = true;
  const std::vector<std::string> before = results_of(g, 1);
  const std::vector<PassReport> reports = apply_passes(g, names, verified);
  EXPECT_EQ(results_of(g, 1), before);
  SymbolicGraph again(g);
  EXPECT_EQ(apply_passes(again, std::vector{names.back()}, verified).back().text,
            names.back() + ": nothing");
  return reports.back().text;
}

/// The number of nodes that are not removed.
inline std::size_t node_total(const SymbolicGraph& g) { return topological_order(g).size(); }

}  // namespace mote::test
