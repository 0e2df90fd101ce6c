// make_program: checks names, unifies sizes, merges equal nodes, derives the size rules.
#include "mote/uops/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "mote/base/error.h"
#include "node.h"
#include "size_rules.h"
#include "unify.h"

namespace mote {
namespace {

const uop::Input* as_input(const Uop& u) { return std::get_if<uop::Input>(&u.node().kind); }

class Maker {
 public:
  explicit Maker(ProgramSpec spec) : spec_(std::move(spec)) {}

  Program run() {
    check_names();
    collect_nodes();
    check_nodes();
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
    p.size_rules = derive_size_rules(spec_.name, p.inputs, free_sizes(p));
    return p;
  }

 private:
  [[noreturn]] void fail(const std::string& text, const UopNode* node = nullptr) const {
    throw NodeError(fmt::format("{}: {}", spec_.name, text), node);
  }

  void check_name(const std::string& name, std::string_view kind, std::set<std::string>& seen) {
    if (!is_identifier(name))
      fail(fmt::format("the name of {} '{}' must be letters, digits and _", kind, name));
    if (kind != "parameter" && is_reserved_word(name))  // parameters stand behind a $
      fail(fmt::format("{} '{}': the name is a word of the program text", kind, name));
    if (!seen.insert(name).second) fail(fmt::format("{} '{}': the name is taken", kind, name));
  }

  void check_names() {
    std::string plain = spec_.name;
    std::replace(plain.begin(), plain.end(), '.', '_');
    if (!is_identifier(plain))
      throw NodeError(
          fmt::format("the name of a program '{}' must be letters, digits, _ and .", spec_.name),
          nullptr);
    if (spec_.outputs.empty()) fail("there is no output");
    std::set<std::string> values, sizes;
    for (const ParamDecl& p : spec_.params) check_param(p, values);
    for (const Uop& u : spec_.inputs) {
      if (!u || !as_input(u)) fail("an input is not an Input node");
      check_name(as_input(u)->name, "input", values);
    }
    for (const Output& o : spec_.outputs) {
      check_name(o.name, "output", values);
      if (!o.value) fail(fmt::format("output '{}' has no value", o.name));
    }
    for (const NamedSize& s : spec_.sizes) {
      if (!is_identifier(s.name)) fail(fmt::format("size '{}' is not a name", s.name));
      if (!sizes.insert(s.name).second) fail(fmt::format("size '{}': the name is taken", s.name));
    }
  }

  void check_param(const ParamDecl& p, std::set<std::string>& values) {
    check_name(p.name, "parameter", values);
    if (!p.is_integer && (p.lower || p.upper))
      fail(fmt::format("parameter '{}': a range is for integers", p.name));
    if (p.lower && p.upper && *p.lower > *p.upper)
      fail(fmt::format("parameter '{}': the range {}..{} is empty", p.name, *p.lower, *p.upper));
    if (!p.is_integer || !p.default_value) return;
    const Number value = constant_of(*p.default_value, DType::i64,
                                     fmt::format("{}: parameter '{}'", spec_.name, p.name));
    if ((p.lower && value.integer() < *p.lower) || (p.upper && value.integer() > *p.upper))
      fail(fmt::format("parameter '{}': the default {} is out of its range", p.name,
                       value.integer()));
  }

  void collect_nodes() {
    std::vector<Uop> roots = spec_.inputs;
    for (const Output& o : spec_.outputs) roots.push_back(o.value);
    nodes_ = topological(roots);
  }

  const ParamDecl* find(const std::string& name) const {
    for (const ParamDecl& p : spec_.params)
      if (p.name == name) return &p;
    return nullptr;
  }

  void check_symbols(const Expr& e, const std::string& what, const UopNode* node = nullptr) const {
    for (const Symbol s : e.symbols()) {
      if (s.kind() != SymbolKind::param) continue;
      const ParamDecl* p = find(s.name());
      if (!p) fail(fmt::format("{}: unknown parameter ${}", what, s.name()), node);
      if (!p->is_integer)
        fail(fmt::format("{}: ${} is real, indices and sizes need an integer", what, s.name()),
             node);
    }
  }

  void check_nodes() const {
    for (const Uop& u : nodes_) {
      for_each_expr(u, [&](const Expr& e) { check_symbols(e, describe(u), u.id()); });
      if (u.rank() > kMaxRank)
        fail(fmt::format("{}: rank {} is above {}", describe(u), u.rank(), kMaxRank));
      if (const auto* param = std::get_if<uop::Param>(&u.node().kind)) {
        const ParamDecl* p = find(param->name);
        if (!p) fail(fmt::format("unknown parameter ${}", param->name));
        if (!p->is_integer && !is_real(u.dtype()))
          fail(fmt::format("parameter ${} is real, it cannot be used as {}", param->name,
                           mote::name(u.dtype())),
               u.id());
      }
      if (const uop::Input* in = as_input(u)) check_declared(*in, u);
    }
    for (const NamedSize& s : spec_.sizes) check_symbols(s.value, "size " + s.name);
    for (const Constraint& c : spec_.constraints) {
      check_symbols(c.left, "require");
      check_symbols(c.right, "require");
    }
  }

  void check_declared(const uop::Input& in, const Uop& u) const {
    for (const Uop& declared : spec_.inputs) {
      if (as_input(declared)->name != in.name) continue;
      if (same_node(declared.node(), u.node())) return;
      fail(fmt::format("input {} is declared as {} but used as {}", in.name, type_text(declared),
                       type_text(u)));
    }
    fail(fmt::format("{} {} is not among the inputs", describe(u), type_text(u)));
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
        const Symbol size(SymbolKind::size, fmt::format("d{}{}", as_input(u)->name, k));
        unifier.define(size, u.shape()[k], describe(u));
      }
    for (const NamedSize& s : spec_.sizes)
      unifier.define(Symbol(SymbolKind::size, s.name), s.value, "size " + s.name);
    for (const Constraint& c : spec_.constraints) unifier.require(c, "require");
    for (const Uop& u : nodes_) collect(u, unifier);
    unifier.solve();
    solution_ = unifier.solution();
    unsolved_ = unifier.unsolved();
  }

  // The equalities that a node asks for.
  static void collect(const Uop& u, Unifier& unifier) {
    const auto match = [&](const std::vector<Expr>& a, const std::vector<Expr>& b, int except) {
      for (std::size_t k = 0; k < a.size(); ++k)
        if (static_cast<int>(k) != except && a[k] != b[k])
          unifier.require({a[k], b[k]}, fmt::format("{}: axis {}", describe(u), k), u.id());
    };
    if (const auto* map = std::get_if<uop::Map>(&u.node().kind)) {
      for (const Uop& a : map->args)
        if (a.rank() == u.rank()) match(u.shape(), a.shape(), -1);
    } else if (const auto* select = std::get_if<uop::Select>(&u.node().kind)) {
      match(select->x.shape(), u.shape(), select->axis);
    } else if (const auto* reindex = std::get_if<uop::Reindex>(&u.node().kind)) {
      for (const Constraint& c : reindex->constraints) unifier.require(c, describe(u), u.id());
    }
  }

  void rebuild_nodes() {
    std::unordered_multimap<std::size_t, Uop> interned;
    for (const Uop& u : nodes_) {
      std::vector<Uop> args = operands(u);
      for (Uop& a : args) a = made_.at(a.id());
      Uop node = rebuild(u, std::move(args), solution_);
      const std::size_t hash = hash_node(node.node());
      const auto [first, last] = interned.equal_range(hash);
      const auto found = std::find_if(
          first, last, [&](const auto& e) { return same_node(e.second.node(), node.node()); });
      if (found != last)
        node = found->second;
      else
        interned.emplace(hash, node);
      made_.emplace(u.id(), node);
    }
  }

  static std::set<Symbol> free_sizes(const Program& p) {
    std::set<Symbol> sizes;
    const auto add = [&](const Expr& e) {
      for (const Symbol s : e.symbols())
        if (s.kind() == SymbolKind::size) sizes.insert(s);
    };
    std::vector<Uop> roots = p.inputs;
    for (const Output& o : p.outputs) roots.push_back(o.value);
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
};

}  // namespace

Uop rebuild(const Uop& u, std::vector<Uop> args, const std::map<Symbol, Expr>& env) {
  const UopNode& n = u.node();
  const auto replace = [&](std::vector<Expr> exprs) {
    if (!env.empty())
      for (Expr& e : exprs) e = e.substitute(env);
    return exprs;
  };
  std::vector<Expr> shape = replace(n.shape);
  std::vector<std::string> names = n.axis_names;
  for (std::size_t k = 0; k < shape.size(); ++k)  // l of size L becomes k when L turns out to be K
    if (names[k] == default_axis_name(n.shape[k]) && !default_axis_name(shape[k]).empty())
      names[k] = default_axis_name(shape[k]);
  uop::Kind kind = n.kind;
  if (const auto* k = std::get_if<uop::Reindex>(&kind))
    return make_reindex(args[0], std::move(shape), std::move(names), replace(k->from), k->fill, {});
  if (auto* iota = std::get_if<uop::Iota>(&kind)) iota->value = iota->value.substitute(env);
  if (auto* map = std::get_if<uop::Map>(&kind)) map->args = std::move(args);
  if (auto* reduce = std::get_if<uop::Reduce>(&kind)) reduce->x = args[0];
  if (auto* stop = std::get_if<uop::StopGradient>(&kind)) stop->x = args[0];
  if (auto* select = std::get_if<uop::Select>(&kind)) {
    select->x = args[0];
    select->index = args[1];
  }
  return make_node(std::move(kind), n.dtype, std::move(shape), std::move(names));
}

Program make_program(ProgramSpec spec) {
  const std::string prefix = spec.name + ": ";
  try {
    return Maker(std::move(spec)).run();
  } catch (const NodeError&) {
    throw;
  } catch (const Error& error) {  // of index arithmetic, say
    const std::string_view what = error.what();
    if (what.starts_with(prefix)) throw;
    throw Error(prefix + error.what());
  }
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
