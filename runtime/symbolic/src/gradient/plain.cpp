// SPDX-License-Identifier: Apache-2.0
#include "gradient/plain.h"

#include "mote/symbolic/gradient.h"

namespace mote {

TensorForm plain(const TensorForm& form) {
  TensorForm made(form.dtype, form.shape);
  made.device = form.device;
  return made;
}

TensorSymbol as_plain(SymbolicGraph& graph, TensorSymbol x) {
  const TensorForm form = graph.form(x);
  return form == plain(form) ? x : graph.convert(x, plain(form));
}

std::vector<TensorSymbol> gradient_or_zeros(SymbolicGraph& graph, std::span<const TensorSymbol> of,
                                            std::span<const TensorSymbol> seeds,
                                            std::span<const TensorSymbol> wrt) {
  std::vector<TensorSymbol> gradients;
  if (of.empty())
    for (const TensorSymbol x : wrt) gradients.push_back(graph.zeros(plain(graph.form(x))));
  else
    gradients = gradient(graph, of, wrt, seeds);
  for (TensorSymbol& x : gradients) x = as_plain(graph, x);
  return gradients;
}

}  // namespace mote
