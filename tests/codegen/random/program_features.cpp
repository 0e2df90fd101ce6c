// SPDX-License-Identifier: Apache-2.0
// Finds features of a program in its final graph (not in the generator's choices).
#include "program_features.h"

#include <map>

#include "edit_program.h"

namespace mote::test {
namespace {

bool has_atom(const Expr& e, Atom::Kind kind) {
  bool found = false;
  e.transform([&](const Atom& a) {
    found = found || a.kind == kind;
    return Expr::from_atom(a);
  });
  return found;
}

void reindex_features(const uop::Reindex& r, const Uop& u, std::set<std::string>& found) {
  std::vector<int> uses(u.shape().size(), 0);
  for (const Expr& e : r.from) {
    if (has_atom(e, Atom::Kind::div) || has_atom(e, Atom::Kind::mod)) found.insert("merged axes");
    if (e.constant()) found.insert("constant index");
    int axes = 0;
    for (std::size_t k = 0; k < uses.size(); ++k) {
      const Symbol i = *Expr::loop(static_cast<int>(k)).as_symbol();
      if (!e.mentions(i)) continue;
      ++uses[k];
      ++axes;
      const auto linear = linear_in(e, i);
      if (!linear) continue;
      if (linear->factor == Expr(-1))
        found.insert("reversal");
      else if (linear->factor != Expr(1))
        found.insert("stride");
      else if (linear->rest.constant() && linear->rest != Expr(0))
        found.insert("shift");
    }
    if (axes > 1) found.insert("several axes in an index");
    for (const Symbol s : e.symbols())
      if (s.kind() == SymbolKind::param) found.insert("parameter in an index");
  }
  for (const int n : uses) {
    if (n == 0) found.insert("broadcast");
    if (n > 1) found.insert("diagonal");
  }
  const bool zero = r.fill.is_real() ? r.fill.real() == 0 : r.fill.integer() == 0;
  if (!zero) found.insert("fill other than 0");
}

void node_features(const Uop& u, std::set<std::string>& found) {
  const uop::Kind& kind = u.node().kind;
  if (!is_real(u.dtype())) found.insert("integers or booleans");
  if (u.dtype() == DType::f32) found.insert("f32");
  if (size_of(u.dtype()) < 4 && u.dtype() != DType::boolean) found.insert("narrow dtype");
  if (const auto* r = std::get_if<uop::Reindex>(&kind)) reindex_features(*r, u, found);
  if (const auto* r = std::get_if<uop::Reduce>(&kind)) {
    found.insert("reduction");
    if (r->axes.size() > 1) found.insert("reduction of several axes");
    if (r->op == ReduceOp::argmax || r->op == ReduceOp::argmin) found.insert("argmax or argmin");
    if (u.rank() == 0) found.insert("reduction to a scalar");
  }
  if (const auto* m = std::get_if<uop::Map>(&kind)) {
    if (m->op == MapOp::where) found.insert("where");
    if (m->op == MapOp::cast) found.insert("cast");
    if (m->op == MapOp::div) found.insert("division");
    if (is_transcendental(m->op)) found.insert("transcendental");
  }
  if (const auto* s = std::get_if<uop::Select>(&kind)) {
    const bool position = std::holds_alternative<uop::Iota>(s->index.node().kind);
    found.insert(position ? "select by position" : "select by data");
  }
  if (std::holds_alternative<uop::Scatter>(kind)) found.insert("scatter");
  if (std::holds_alternative<uop::SelectScatter>(kind)) found.insert("scatter by data");
  if (size_of(u.dtype()) < 4 && u.dtype() != DType::boolean) found.insert("16 or 8 bits");
  if (std::holds_alternative<uop::Iota>(kind)) found.insert("iota");
  if (std::holds_alternative<uop::Param>(kind)) found.insert("parameter as a value");
  if (std::holds_alternative<uop::StopGradient>(kind)) found.insert("stop_gradient");
}

void graph_features(const Program& p, std::set<std::string>& found) {
  std::map<const UopNode*, int> reads, outputs;
  for (const Uop& u : nodes_of(p))
    for (const Uop& x : operands(u)) ++reads[x.id()];
  for (const Output& o : p.outputs) {
    if (reads.contains(o.value.id())) found.insert("output that others read");
    if (++outputs[o.value.id()] > 1) found.insert("the same output twice");
  }
  for (const auto& [node, count] : reads)
    if (count > 1 && !std::holds_alternative<uop::Input>(node->kind) &&
        !std::holds_alternative<uop::Scalar>(node->kind))
      found.insert("fan-out");
  if (p.outputs.size() > 1) found.insert("several outputs");
  for (const Uop& u : p.inputs)
    for (const bool flag : std::get<uop::Input>(u.node().kind).broadcast)
      if (flag) found.insert("input axis that may be 1");
}

}  // namespace

std::vector<std::string> all_features() {
  return {"16 or 8 bits",
          "argmax or argmin",
          "broadcast",
          "cast",
          "constant index",
          "diagonal",
          "division",
          "f32",
          "narrow dtype",
          "fan-out",
          "fill other than 0",
          "input axis that may be 1",
          "integers or booleans",
          "iota",
          "merged axes",
          "output that others read",
          "parameter as a value",
          "parameter in an index",
          "reduction",
          "reduction of several axes",
          "reduction to a scalar",
          "reversal",
          "scatter",
          "scatter by data",
          "select by data",
          "select by position",
          "several axes in an index",
          "several outputs",
          "shift",
          "stop_gradient",
          "stride",
          "the same output twice",
          "transcendental",
          "where"};
}

std::set<std::string> features_of(const Program& p) {
  std::set<std::string> found;
  for (const Uop& u : nodes_of(p)) node_features(u, found);
  graph_features(p, found);
  return found;
}

int computing_nodes(const Program& p) {
  int count = 0;
  for (const Uop& u : nodes_of(p)) {
    const uop::Kind& kind = u.node().kind;
    const bool given = std::holds_alternative<uop::Input>(kind) ||
                       std::holds_alternative<uop::Scalar>(kind) ||
                       std::holds_alternative<uop::Param>(kind);
    if (!given) ++count;
  }
  return count;
}

}  // namespace mote::test
