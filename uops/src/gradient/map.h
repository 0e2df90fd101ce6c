// SPDX-License-Identifier: Apache-2.0
// Derivatives of Map ops that are longer than a row of the table of operations (graph/map_ops_*.h).
// Each gives the gradient of each argument, from the gradient g of the result.
#pragma once

#include <vector>

#include "gradient/rules.h"
#include "graph/node.h"

namespace mote {

/// The gradient g of the result y of an op on the arguments x.
struct MapSite {
  const Uop& g;
  const std::vector<Uop>& x;
  const Uop& y;
  AtKinks at_kinks;
};

/// Returns the gradient of the only argument.
std::vector<Adjoint> only(const Uop& value);

std::vector<Adjoint> abs_terms(const MapSite& at);
std::vector<Adjoint> add_terms(const MapSite& at);
std::vector<Adjoint> sub_terms(const MapSite& at);
std::vector<Adjoint> mul_terms(const MapSite& at);
std::vector<Adjoint> div_terms(const MapSite& at);
std::vector<Adjoint> pow_terms(const MapSite& at);
std::vector<Adjoint> mod_terms(const MapSite& at);
std::vector<Adjoint> min_terms(const MapSite& at);
std::vector<Adjoint> max_terms(const MapSite& at);
std::vector<Adjoint> cast_terms(const MapSite& at);
std::vector<Adjoint> where_terms(const MapSite& at);

}  // namespace mote
