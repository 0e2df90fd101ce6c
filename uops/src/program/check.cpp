// SPDX-License-Identifier: Apache-2.0
// Checks names, parameters, symbols and declarations for make_program, without unification.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "graph/node.h"

namespace mote {
namespace {

using Kind = Culprit::Kind;

class Checker {
 public:
  explicit Checker(const ProgramSpec& spec) : spec_(spec) {}

  void names() {
    std::string plain = spec_.name;
    std::replace(plain.begin(), plain.end(), '.', '_');
    if (!is_identifier(plain))
      throw ProgramError(
          fmt::format("the name of a program '{}' must be letters, digits, _ and .", spec_.name),
          {});
    if (spec_.outputs.empty()) fail("there is no output");
    each(Kind::param, spec_.params, [this](const ParamDecl& p) { check_param(p); });
    each(Kind::input, spec_.inputs, [this](const Uop& u) {
      const uop::Input* in = u ? std::get_if<uop::Input>(&u.node().kind) : nullptr;
      if (!in) fail("an input is not an Input node");
      check_name(in->name, "input");
    });
    each(Kind::output, spec_.outputs, [this](const Output& o) {
      check_name(o.name, "output");
      if (!o.value) fail(fmt::format("output '{}' has no value", o.name));
    });
    each(Kind::size, spec_.sizes, [this](const NamedSize& s) {
      check_identifier(s.name, "the name of size");
      if (!sizes_.insert(s.name).second) fail(fmt::format("size '{}': the name is taken", s.name));
    });
  }

  void nodes(const std::vector<Uop>& nodes) {
    for (const Uop& u : nodes) {
      culprit_ = Culprit::of(u);
      check_node(u);
    }
    each(Kind::size, spec_.sizes,
         [this](const NamedSize& s) { check_fixed(s.value, "size " + s.name); });
    each(Kind::require, spec_.constraints, [this](const Constraint& c) {
      check_fixed(c.left, "require");
      check_fixed(c.right, "require");
    });
  }

 private:
  template <typename T, typename F>
  void each(Kind kind, const std::vector<T>& entries, const F& check) {
    for (std::size_t k = 0; k < entries.size(); ++k) {
      culprit_ = {kind, k, nullptr};
      check(entries[k]);
    }
    culprit_ = {};
  }

  [[noreturn]] void fail(const std::string& text) const {
    throw ProgramError(fmt::format("{}: {}", spec_.name, text), culprit_);
  }

  void check_identifier(const std::string& name, const std::string& what) const {
    if (!is_identifier(name))
      fail(fmt::format("{} '{}' must be letters, digits and _", what, name));
  }

  void check_name(const std::string& name, const std::string& kind) {
    check_identifier(name, "the name of " + kind);
    if (kind != "parameter" && is_reserved_word(name))  // parameters stand after a $
      fail(fmt::format("{} '{}': the name is a word of the program text", kind, name));
    if (!values_.insert(name).second) fail(fmt::format("{} '{}': the name is taken", kind, name));
  }

  void check_param(const ParamDecl& p) {
    check_name(p.name, "parameter");
    if (!p.is_integer && (p.lower || p.upper))
      fail(fmt::format("parameter '{}': a range is for integers", p.name));
    if (p.lower && p.upper && *p.lower > *p.upper)
      fail(fmt::format("parameter '{}': the range {}..{} is empty", p.name, *p.lower, *p.upper));
    if (!p.is_integer || !p.default_value) return;
    Number value;
    try {
      value = constant_of(*p.default_value, DType::i64, fmt::format("parameter '{}'", p.name));
    } catch (const Error& error) {
      fail(error.what());
    }
    if ((p.lower && value.integer() < *p.lower) || (p.upper && value.integer() > *p.upper))
      fail(fmt::format("parameter '{}': the default {} is out of its range", p.name,
                       value.integer()));
  }

  const ParamDecl* find(const std::string& name) const {
    for (const ParamDecl& p : spec_.params)
      if (p.name == name) return &p;
    return nullptr;
  }

  void check_symbols(const Expr& e, const std::string& what) const {
    for (const Symbol s : e.symbols()) {
      if (s.kind() == SymbolKind::size) check_identifier(s.name(), what + ": the name of size");
      if (s.kind() != SymbolKind::param) continue;
      const ParamDecl* p = find(s.name());
      if (!p) fail(fmt::format("{}: unknown parameter ${}", what, s.name()));
      if (!p->is_integer)
        fail(fmt::format("{}: ${} is real, indices and sizes need an integer", what, s.name()));
    }
  }

  /// Checks an expression that has one value for the whole program, not one for each element.
  void check_fixed(const Expr& e, const std::string& what) const {
    check_symbols(e, what);
    for (const Symbol s : e.symbols())
      if (s.kind() == SymbolKind::loop)
        fail(fmt::format("{}: {} mentions the loop variable {}", what, e.to_string(), s.name()));
  }

  void check_node(const Uop& u) const {
    const std::string what = describe(u);
    for_each_expr(u, [&](const Expr& e) { check_symbols(e, what); });
    for (const Constraint& c : stated_constraints(u)) {
      check_fixed(c.left, what);
      check_fixed(c.right, what);
    }
    if (u.rank() > kMaxRank) fail(fmt::format("{}: rank {} is above {}", what, u.rank(), kMaxRank));
    for (std::size_t k = 0; k < u.node().axis_names.size(); ++k)
      if (!u.node().axis_names[k].empty())
        check_identifier(u.node().axis_names[k], fmt::format("{}: the name of axis {}", what, k));
    if (const auto* param = std::get_if<uop::Param>(&u.node().kind)) {
      const ParamDecl* p = find(param->name);
      if (!p) fail(fmt::format("unknown parameter ${}", param->name));
      if (!p->is_integer && !is_real(u.dtype()))
        fail(fmt::format("parameter ${} is real, it cannot be used as {}", param->name,
                         mote::name(u.dtype())));
    }
    if (const auto* in = std::get_if<uop::Input>(&u.node().kind)) check_declared(*in, u);
  }

  void check_declared(const uop::Input& in, const Uop& u) const {
    for (const Uop& declared : spec_.inputs) {
      if (std::get<uop::Input>(declared.node().kind).name != in.name) continue;
      if (same_node(declared.node(), u.node())) return;
      fail(fmt::format("input {} is declared as {} but used as {}", in.name, type_text(declared),
                       type_text(u)));
    }
    fail(fmt::format("{} {} is not among the inputs", describe(u), type_text(u)));
  }

  const ProgramSpec& spec_;
  Culprit culprit_;
  std::set<std::string> values_, sizes_;
};

}  // namespace

void check_names(const ProgramSpec& spec) { Checker(spec).names(); }

void check_nodes(const ProgramSpec& spec, const std::vector<Uop>& nodes) {
  Checker(spec).nodes(nodes);
}

}  // namespace mote
