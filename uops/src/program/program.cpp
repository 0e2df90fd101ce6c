// SPDX-License-Identifier: Apache-2.0
// Makes programs: unifies sizes, merges equal nodes, checks divisors that vary, derives size rules.
#include "mote/uops/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "expr/divisors.h"
#include "graph/node.h"
#include "mote/base/error.h"
#include "mote/base/near_names.h"
#include "program/size_rules.h"
#include "program/unify.h"

namespace mote {
namespace {

const uop::Input* as_input(const Uop& u) { return std::get_if<uop::Input>(&u.node().kind); }

class Maker {
 public:
  explicit Maker(ProgramSpec spec) : spec_(std::move(spec)) {}

  Program run() {
    try {
      return made();
    } catch (const ProgramError&) {
      throw;
    } catch (const Error& error) {  // of index arithmetic, for example
      fail(error.what(), culprit_);
    }
  }

 private:
  Program made() {
    check_names(spec_);
    collect_nodes();
    check_nodes(spec_, nodes_);
    unify();
    rebuild_nodes();
    Program p;
    p.name = spec_.name;
    p.equation = spec_.equation;
    p.params = spec_.params;
    for (const Uop& u : spec_.inputs) p.inputs.push_back(made_.at(u.id()));
    for (const Output& o : spec_.outputs) p.outputs.push_back({o.name, made_.at(o.value.id())});
    for (const NamedSize& s : spec_.sizes)
      p.sizes.push_back({s.name, s.value.substitute(solution_)});
    p.constraints = std::move(unsolved_);
    derive_rules(p);
    return p;
  }

  [[noreturn]] void fail(const std::string& text, Culprit culprit) const {
    throw ProgramError(fmt::format("{}: {}", spec_.name, text), culprit);
  }

  void collect_nodes() {
    const std::vector<Uop> roots = inputs_and_roots(spec_.inputs, spec_.outputs);
    nodes_ = topological(roots);
  }

  std::vector<Symbol> declared_sizes() const {
    std::vector<Symbol> declared;
    for (const Uop& u : spec_.inputs)
      for (const Expr& e : u.shape())
        for (const Symbol s : e.symbols())
          if (std::find(declared.begin(), declared.end(), s) == declared.end())
            declared.push_back(s);
    return declared;
  }

  void unify() {
    Unifier unifier(spec_.name, declared_sizes());
    for (const Uop& u : spec_.inputs)
      for (std::size_t k = 0; k < u.shape().size(); ++k) {
        culprit_ = Culprit::of(u);
        const Symbol size(SymbolKind::size, fmt::format("d{}{}", as_input(u)->name, k));
        unifier.define(size, u.shape()[k], describe(u), culprit_);
      }
    for (std::size_t k = 0; k < spec_.sizes.size(); ++k) {
      const NamedSize& s = spec_.sizes[k];
      culprit_ = {Culprit::Kind::size, k, nullptr};
      unifier.define(Symbol(SymbolKind::size, s.name), s.value, "size " + s.name, culprit_);
    }
    for (std::size_t k = 0; k < spec_.constraints.size(); ++k)
      unifier.require(spec_.constraints[k], "require", {Culprit::Kind::require, k, nullptr});
    for (const Uop& u : nodes_) collect(u, unifier);
    culprit_ = {};
    unifier.solve();
    solution_ = unifier.solution();
    unsolved_ = unifier.unsolved();
  }

  // Collects the equalities that a node requires.
  static void collect(const Uop& u, Unifier& unifier) {
    const auto match = [&](const std::vector<Expr>& a, const std::vector<Expr>& b, int except) {
      for (std::size_t k = 0; k < a.size(); ++k)
        if (static_cast<int>(k) != except && a[k] != b[k])
          unifier.require({a[k], b[k]}, fmt::format("{}: axis {}", describe(u), k), Culprit::of(u));
    };
    if (const auto* map = std::get_if<uop::Map>(&u.node().kind)) {
      for (const Uop& a : map->args)
        if (a.rank() == u.rank()) match(u.shape(), a.shape(), -1);
    } else if (const auto* select = std::get_if<uop::Select>(&u.node().kind)) {
      match(select->x.shape(), u.shape(), select->axis);
    } else if (const auto* scatter = std::get_if<uop::SelectScatter>(&u.node().kind)) {
      match(scatter->x.shape(), scatter->index.shape(), -1);
      match(u.shape(), scatter->index.shape(), scatter->axis);
    }
    for (const Constraint& c : stated_constraints(u))
      unifier.require(c, describe(u), Culprit::of(u));
  }

  void rebuild_nodes() {
    std::unordered_multimap<std::size_t, Uop> interned;
    for (const Uop& u : nodes_) {
      culprit_ = Culprit::of(u);
      std::vector<Uop> args = operands(u);
      for (Uop& a : args) a = made_.at(a.id());
      Uop node = rebuild(u, args, solution_);
      const std::size_t hash = hash_node(node.node());
      const auto [first, last] = interned.equal_range(hash);
      const auto found = std::find_if(
          first, last, [&](const auto& e) { return same_node(e.second.node(), node.node()); });
      if (found != last)
        node = found->second;
      else
        interned.emplace(hash, node);
      if (const std::optional<Expr> d = doubtful_divisor(node, spec_.params))
        fail(fmt::format("{} divides by {}, which must be surely >= 1", describe(node),
                         d->to_string()),
             culprit_);
      made_.emplace(u.id(), node);
    }
    culprit_ = {};
  }

  void derive_rules(Program& p) const {
    std::set<Symbol> sizes = free_sizes(p);
    p.size_rules = derive_size_rules(p.inputs, sizes);
    if (sizes.empty()) return;
    std::string shapes;
    for (const Uop& u : p.inputs)
      shapes += fmt::format("{}{} {}", shapes.empty() ? "" : ", ", as_input(u)->name, type_text(u));
    std::vector<std::string> known;
    for (const SizeRule& rule : p.size_rules) known.push_back(rule.size.name());
    for (const NamedSize& s : p.sizes) known.push_back(s.name);
    const std::string lost = sizes.begin()->to_string();
    fail(fmt::format("size {} does not follow from the inputs ({}){}", lost,
                     shapes.empty() ? "there are none" : shapes, did_you_mean(lost, known)),
         first_with(*sizes.begin()));
  }

  // Returns the first node, size or constraint that mentions the size.
  Culprit first_with(Symbol size) const {
    for (const Uop& u : nodes_) {
      bool mentions = false;
      for_each_expr(u, [&](const Expr& e) { mentions = mentions || e.mentions(size); });
      for (const Constraint& c : stated_constraints(u))
        mentions = mentions || c.left.mentions(size) || c.right.mentions(size);
      if (mentions) return Culprit::of(u);
    }
    for (std::size_t k = 0; k < spec_.sizes.size(); ++k)
      if (spec_.sizes[k].value.mentions(size)) return {Culprit::Kind::size, k, nullptr};
    for (std::size_t k = 0; k < spec_.constraints.size(); ++k)
      if (spec_.constraints[k].left.mentions(size) || spec_.constraints[k].right.mentions(size))
        return {Culprit::Kind::require, k, nullptr};
    return {};
  }

  static std::set<Symbol> free_sizes(const Program& p) {
    std::set<Symbol> sizes;
    const auto add = [&](const Expr& e) {
      for (const Symbol s : e.symbols())
        if (s.kind() == SymbolKind::size) sizes.insert(s);
    };
    const std::vector<Uop> roots = inputs_and_roots(p.inputs, p.outputs);
    for (const Uop& u : topological(roots)) for_each_expr(u, add);
    for (const NamedSize& s : p.sizes) add(s.value);
    for (const Constraint& c : p.constraints) {
      add(c.left);
      add(c.right);
    }
    return sizes;
  }

  ProgramSpec spec_;
  std::vector<Uop> nodes_;
  std::map<Symbol, Expr> solution_;
  std::vector<Constraint> unsolved_;
  std::unordered_map<const UopNode*, Uop> made_;
  Culprit culprit_;  ///< the node or statement under examination
};

}  // namespace

Uop rebuild(const Uop& u, const std::vector<Uop>& args, const std::map<Symbol, Expr>& env) {
  const UopNode& n = u.node();
  const auto replace = [&](std::vector<Expr> exprs) {
    if (!env.empty())
      for (Expr& e : exprs) e = e.substitute(env);
    return exprs;
  };
  std::vector<Expr> shape = replace(n.shape);
  std::vector<std::string> names = n.axis_names;
  for (std::size_t k = 0; k < shape.size(); ++k)  // l of size L becomes k if L turns out to be K
    if (names[k] == default_axis_name(n.shape[k]) && !default_axis_name(shape[k]).empty())
      names[k] = default_axis_name(shape[k]);
  uop::Kind kind = n.kind;
  if (const auto* k = std::get_if<uop::Reindex>(&kind))
    return make_reindex(args[0], std::move(shape), std::move(names), replace(k->from), k->fill, {});
  if (auto* iota = std::get_if<uop::Iota>(&kind)) iota->value = iota->value.substitute(env);
  if (auto* map = std::get_if<uop::Map>(&kind)) map->args = args;
  if (auto* reduce = std::get_if<uop::Reduce>(&kind)) reduce->x = args[0];
  if (auto* stop = std::get_if<uop::StopGradient>(&kind)) stop->x = args[0];
  if (auto* select = std::get_if<uop::Select>(&kind)) {
    select->x = args[0];
    select->index = args[1];
  }
  if (auto* scatter = std::get_if<uop::Scatter>(&kind)) {
    scatter->base = args[0];
    scatter->x = args[1];
    scatter->to = replace(std::move(scatter->to));
    scatter->constraints.clear();
  }
  if (auto* scatter = std::get_if<uop::SelectScatter>(&kind)) {
    scatter->base = args[0];
    scatter->x = args[1];
    scatter->index = args[2];
  }
  return make_node(std::move(kind), n.dtype, std::move(shape), std::move(names));
}

Facts facts_over(const std::vector<Expr>& shape, const Facts& outside) {
  Facts facts = outside;
  for (std::size_t k = 0; k < shape.size(); ++k)
    facts.set_range(*Expr::loop(static_cast<int>(k)).as_symbol(), 0, shape[k]);
  return facts;
}

Uop with_operands(const Uop& u, const std::vector<Uop>& args) { return rebuild(u, args, {}); }

Program make_program(ProgramSpec spec) { return Maker(std::move(spec)).run(); }

std::vector<bool> read_inputs(const Program& p) {
  const std::vector<Uop> outputs = roots(p);
  const std::vector<Uop> nodes = topological(outputs);
  std::vector<bool> read;
  for (const Uop& input : p.inputs)
    read.push_back(std::ranges::find(nodes, input.id(), &Uop::id) != nodes.end());
  return read;
}

std::vector<Uop> roots(std::span<const Output> outputs) { return inputs_and_roots({}, outputs); }

std::vector<Uop> inputs_and_roots(std::vector<Uop> inputs, std::span<const Output> outputs) {
  for (const Output& o : outputs) inputs.push_back(o.value);
  return inputs;
}

std::optional<int> find_input(const Program& p, std::string_view name) {
  for (std::size_t k = 0; k < p.inputs.size(); ++k)
    if (as_input(p.inputs[k])->name == name) return static_cast<int>(k);
  return std::nullopt;
}

std::optional<int> find_param(const Program& p, std::string_view name) {
  for (std::size_t k = 0; k < p.params.size(); ++k)
    if (p.params[k].name == name) return static_cast<int>(k);
  return std::nullopt;
}

}  // namespace mote
