// SPDX-License-Identifier: Apache-2.0
// The rules of the reverse walk. A gradient on its way carries the conditions under which it is not
// 0: where(c, v, 0) times an infinite derivative would be NaN where c is false, so the where is
// delayed until a sum needs it.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "mote/uops/gradient.h"
#include "mote/uops/uop.h"

namespace mote {

/// A condition: `holds` is true, or, if negated, false.
struct FlowCondition {
  Uop holds;
  bool negated = false;
};
bool same_condition(const FlowCondition& a, const FlowCondition& b);

/// The gradient of a node: value where all conditions hold, else zero (whatever value is). An empty
/// value means that there is no gradient.
struct Adjoint {
  Uop value;
  std::vector<FlowCondition> where;
};
/// Returns the gradient as one uop.
Uop materialise(const Adjoint& a);
/// Returns x if u is -x, else empty.
Uop negated(const Uop& u);
/// Returns -u, or x if u is -x.
Uop negate(const Uop& u);
/// Returns the sum of the contributions of a node's readers, of which there is at least one.
Adjoint join(std::vector<Adjoint> terms);

/// The arguments of a rule: the forward node, its operands and itself as the gradient may read them
/// (outputs that are given are inputs there), and its gradient. x ends with inner_operands(node).
struct Site {
  Uop node;
  std::vector<Uop> x;
  Uop y;
  Adjoint g;
  AtKinks at_kinks = AtKinks::usual;
};
/// Returns the node's contribution to each operand, in the order of operands(), also to those that
/// need none. The last are those to inner_operands(node), in place of as many operands.
std::vector<Adjoint> gradient_terms(Site site);
/// Returns u if the node is n/(c + exp(u)), log(c + exp(u)) or log1p(exp(u)), c > 0 a constant, or
/// max(u, 0) + log1p(exp(-|u|)); b and u if it is max(u, 0) - b + log1p(exp(-|u|)); else nothing.
/// Such a node passes its gradient directly to these (logistic_terms).
std::vector<Uop> inner_operands(const Uop& node);
std::vector<Adjoint> logistic_terms(const Site& site);
/// Returns what an argument gets of the gradient g where several are equal to a max or min: `share`
/// by the usual rule.
Uop share_at_tie(AtKinks at_kinks, const Uop& g, const Uop& share);
/// Returns what each of `count` elements that are equal to a max or min gets of the gradient g.
Uop share_among(AtKinks at_kinks, const Uop& g, const Uop& count);
/// Returns the contributions of a Map node.
std::vector<Adjoint> map_terms(MapOp op, const Site& site);
/// Returns true if the node passes a gradient to a real operand.
bool passes_gradient(const Uop& node);
bool passes_gradient(MapOp op);

/// Returns the contributions of the two kinds of scatter.
std::vector<Adjoint> scatter_terms(const uop::Scatter& k, const Site& site);
std::vector<Adjoint> scatter_terms(const uop::SelectScatter& k, const Site& site);

/// Returns the value of a real literal.
std::optional<double> real_literal(const Uop& u);
/// Returns 0 over the shape of x.
Uop zeros_like(const Uop& x);
using Indices = std::vector<Expr>;
std::vector<IndexText> as_text(const Indices& from);
Indices loops(int rank);  ///< i0, i1, …
/// Maps i0 to from[0], and so on.
std::map<Symbol, Expr> loops_become(const Indices& from);

}  // namespace mote
