// SPDX-License-Identifier: Apache-2.0
// The rules of the reverse walk. A gradient on its way carries the conditions under which there is
// any: where(c, v, 0) times an infinite derivative would be NaN where c is false, so that the
// where is put off until a sum needs it.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "mote/uops/uop.h"

namespace mote {

/// holds, or, negated, does not.
struct FlowCondition {
  Uop holds;
  bool negated = false;
};
bool same_condition(const FlowCondition& a, const FlowCondition& b);

/// The gradient of a node: value where all conditions hold, else zero (whatever value is). An empty
/// value: no gradient at all.
struct Adjoint {
  Uop value;
  std::vector<FlowCondition> where;
};
/// The gradient as one uop.
Uop materialise(const Adjoint& a);
/// x where u is -x, else empty.
Uop negated(const Uop& u);
/// -u, or x where u is -x.
Uop negate(const Uop& u);
/// The sum of what the readers of a node contribute, at least one.
Adjoint join(std::vector<Adjoint> terms);

/// Where a rule is applied: the forward node, its operands and itself as the gradient may read them
/// (outputs that are given are inputs there), and its gradient. x ends with exponent_under(node)
/// where there is one.
struct Site {
  Uop node;
  std::vector<Uop> x;
  Uop y;
  Adjoint g;
};
/// What the node contributes to each operand, in the order of operands(); also to those that need
/// nothing. The last is exponent_under(node)'s where there is one.
std::vector<Adjoint> gradient_terms(Site site);
/// u where the node is n/(c + exp(u)), log(c + exp(u)) or log1p(exp(u)), c > 0 a constant; else
/// empty. Such a node passes its gradient to u at once (logistic_terms).
Uop exponent_under(const Uop& node);
std::vector<Adjoint> logistic_terms(const Site& site);
/// For Map nodes.
std::vector<Adjoint> map_terms(MapOp op, const Site& site);
/// Something flows through the node to a real operand.
bool passes_gradient(const Uop& node);
bool passes_gradient(MapOp op);

/// For the two kinds of scatter.
std::vector<Adjoint> scatter_terms(const uop::Scatter& k, const Site& site);
std::vector<Adjoint> scatter_terms(const uop::SelectScatter& k, const Site& site);

/// Of a real literal.
std::optional<double> real_literal(const Uop& u);
/// 0 over the shape of x.
Uop zeros_like(const Uop& x);
using Indices = std::vector<Expr>;
std::vector<IndexText> as_text(const Indices& from);
Indices loops(int rank);  ///< i0, i1, …
/// i0 becomes from[0], and so on.
std::map<Symbol, Expr> loops_become(const Indices& from);

}  // namespace mote
