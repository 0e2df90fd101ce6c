// SPDX-License-Identifier: Apache-2.0
// Binds the sizes and parameters of a program for concrete shapes, with every check that they need.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "expr/divisors.h"
#include "graph/node.h"
#include "mote/base/error.h"
#include "mote/uops/evaluate.h"
#include "mote/uops/program.h"

namespace mote {
namespace {

using Extents = std::vector<std::int64_t>;

const uop::Input& input_at(const Uop& u) { return std::get<uop::Input>(u.node().kind); }

class Binder {
 public:
  Binder(const Program& p, const std::vector<Extents>& shapes,
         const std::map<std::string, Number>& params)
      : p_(p), shapes_(shapes), given_(params) {}

  Binding run() {
    bind_params();
    check_ranks();
    for (const SizeRule& rule : p_.size_rules) apply_rule(rule);
    for (std::size_t k = 0; k < p_.inputs.size(); ++k) check_input(k);
    for (const NamedSize& s : p_.sizes) check_divisors(s.value, "size " + s.name);
    for (const Constraint& c : p_.constraints) check_constraint(c);
    for (const Output& o : p_.outputs) b_.outputs.push_back(extents(o.value, "output " + o.name));
    check_nodes();
    return std::move(b_);
  }

 private:
  [[noreturn]] void fail(const std::string& text) const {
    std::string all;
    for (std::size_t k = 0; k < std::min(shapes_.size(), p_.inputs.size()); ++k)
      all += fmt::format("{}{} {}", k == 0 ? "" : ", ", input_at(p_.inputs[k]).name,
                         shape_text(shapes_[k]));
    throw Error(fmt::format("{}: {}{}", p_.name, text, all.empty() ? "" : " (" + all + ")"));
  }

  // ---- parameters

  void bind_params() {
    for (const auto& [name, value] : given_)
      if (!find_param(p_, name)) fail(fmt::format("unknown parameter '{}' ({})", name, known()));
    for (const ParamDecl& p : p_.params) {
      const Number value = param_value(p);
      b_.params.emplace(p.name, value);
      if (p.is_integer) b_.values.emplace(Symbol(SymbolKind::param, p.name), value.integer());
    }
  }

  std::string known() const {
    std::string names;
    for (const ParamDecl& p : p_.params) names += (names.empty() ? "" : ", ") + p.name;
    return names.empty() ? "there are none" : "known: " + names;
  }

  Number param_value(const ParamDecl& p) const {
    const auto given = given_.find(p.name);
    if (given == given_.end() && !p.default_value)
      fail(fmt::format("parameter '{}' is missing and has no default", p.name));
    const Number n = given == given_.end() ? Number(*p.default_value) : given->second;
    if (!p.is_integer) return constant_of(n, DType::f64, p.name);
    const Number value =
        constant_of(n, DType::i64, fmt::format("{}: parameter '{}'", p_.name, p.name));
    const bool low = p.lower && value.integer() < *p.lower;
    if (low || (p.upper && value.integer() > *p.upper))
      fail(fmt::format("parameter '{}' must be in {}..{}, got {}", p.name,
                       p.lower ? std::to_string(*p.lower) : "",
                       p.upper ? std::to_string(*p.upper) : "", value.integer()));
    return value;
  }

  // ---- sizes

  // Returns the extent of an axis as given; a missing leading axis counts as 1.
  std::int64_t given(int input, int axis) const {
    const Extents& shape = shapes_[static_cast<std::size_t>(input)];
    const int missing =
        p_.inputs[static_cast<std::size_t>(input)].rank() - static_cast<int>(shape.size());
    return axis < missing ? 1 : shape[static_cast<std::size_t>(axis - missing)];
  }

  void check_ranks() const {
    if (shapes_.size() != p_.inputs.size()) {
      std::string names;
      for (const Uop& u : p_.inputs) names += (names.empty() ? "" : ", ") + input_at(u).name;
      throw Error(fmt::format("{}: {} inputs expected ({}), got {}", p_.name, p_.inputs.size(),
                              names, shapes_.size()));
    }
    for (std::size_t k = 0; k < shapes_.size(); ++k) {
      const Uop& u = p_.inputs[k];
      const std::vector<bool>& flags = input_at(u).broadcast;
      const auto required =
          flags.end() - std::find(flags.begin(), flags.end(), false);  // after leading flags
      const auto rank = static_cast<std::ptrdiff_t>(shapes_[k].size());
      if (rank < required || rank > u.rank())
        fail(fmt::format("{} must have rank {}{}, got rank {}", input_at(u).name,
                         required < u.rank() ? fmt::format("{}..", required) : "",
                         fmt::format("{} {}", u.rank(), shape_text(u.shape())), rank));
      for (std::size_t axis = 0; axis < shapes_[k].size(); ++axis)
        if (shapes_[k][axis] < 0)
          fail(fmt::format("axis {} of {} is {}, expected >= 0", axis, input_at(u).name,
                           shapes_[k][axis]));
    }
  }

  void apply_rule(const SizeRule& rule) {
    std::int64_t value = 1;
    if (!rule.candidates.empty()) {
      for (const auto& [input, axis] : rule.candidates)
        if (value == 1) value = given(input, axis);
    } else {
      value = solve(rule);
    }
    b_.values.emplace(rule.size, value);
  }

  std::int64_t solve(const SizeRule& rule) const {
    const std::string what = fmt::format(
        "axis {} of {}", rule.axis, input_at(p_.inputs[static_cast<std::size_t>(rule.input)]).name);
    const std::int64_t extent = given(rule.input, rule.axis);
    const std::int64_t scale = value_of(rule.scale, what);
    std::int64_t rest = 0;
    if (__builtin_sub_overflow(extent, value_of(rule.offset, what), &rest))
      fail(fmt::format("{}: {} overflows", what, rule.offset.to_string()));
    if (scale == 0)
      fail(fmt::format("{}: {} cannot be known while {} is 0", what, rule.size.to_string(),
                       rule.scale.to_string()));
    const bool exact = scale == -1 || rest % scale == 0;
    const std::string written = (rule.scale * Expr(rule.size) + rule.offset).to_string();
    if (!exact && rule.offset == Expr(0))
      fail(fmt::format("{} must be a multiple of {}, got {}", what, text(rule.scale, scale),
                       extent));
    if (!exact) fail(fmt::format("{} must be {}, got {}", what, written, extent));
    if (scale == -1 ? rest > 0 : rest / scale < 0)
      fail(fmt::format("{} must be {} with {} >= 0, got {}", what, written, rule.size.to_string(),
                       extent));
    return scale == -1 ? -rest : rest / scale;
  }

  std::int64_t value_of(const Expr& e, const std::string& what) const {
    check_divisors(e, what);
    return checked_value(e, what);
  }

  // Checks the divisors that are fixed; make_program has proved those that vary.
  void check_divisors(const Expr& e, const std::string& what) const {
    for_each_divisor(e, [&](const Expr& d) {
      if (d.constant() || varies(d)) return;
      const std::int64_t value = checked_value(d, what);
      if (value < 1) fail(fmt::format("{} divides by {}, expected >= 1", what, text(d, value)));
    });
  }

  std::int64_t checked_value(const Expr& e, const std::string& what) const {
    try {
      return mote::evaluate(e, b_.values);
    } catch (const Error& error) {
      fail(fmt::format("{}: {}", what, error.what()));
    }
  }

  // Returns "CG = 4", "OH = (definition) = 4" for a declared name, or just the value of a constant.
  std::string text(const Expr& e, std::int64_t value) const {
    if (e.constant()) return std::to_string(value);
    for (const NamedSize& s : p_.sizes)
      if (s.value == e) return fmt::format("{} = {} = {}", s.name, e.to_string(), value);
    return fmt::format("{} = {}", e.to_string(), value);
  }

  void check_input(std::size_t k) {
    const Uop& u = p_.inputs[k];
    Extents full;
    for (int axis = 0; axis < u.rank(); ++axis) {
      const Expr& extent = u.shape()[static_cast<std::size_t>(axis)];
      const bool broadcast = input_at(u).broadcast[static_cast<std::size_t>(axis)];
      const std::string what = fmt::format("axis {} of {}", axis, input_at(u).name);
      const std::int64_t expected = value_of(extent, what);
      const std::int64_t got = given(static_cast<int>(k), axis);
      if (got != expected && !(broadcast && got == 1))
        fail(fmt::format("{} must be {}{}, got {}", what, broadcast ? "1 or " : "",
                         text(extent, expected), got));
      full.push_back(expected);
    }
    count(full, "input " + input_at(u).name);
    b_.inputs.push_back(std::move(full));
  }

  void check_constraint(const Constraint& c) const {
    const std::int64_t left = value_of(c.left, "require");
    const std::int64_t right = value_of(c.right, "require");
    if (left != right)
      fail(fmt::format("{} must equal {}, got {} and {}", c.left.to_string(), c.right.to_string(),
                       left, right));
  }

  // ---- nodes

  Extents extents(const Uop& u, const std::string& what) const {
    Extents result;
    for (std::size_t k = 0; k < u.shape().size(); ++k) {
      const std::string axis = fmt::format("axis {} of {}", k, what);
      const std::int64_t e = value_of(u.shape()[k], axis);
      if (e < 0) fail(fmt::format("{}: {}, expected >= 0", axis, text(u.shape()[k], e)));
      result.push_back(e);
    }
    count(result, what);
    return result;
  }

  std::int64_t count(const Extents& shape, const std::string& what) const {
    try {
      return element_count(shape);
    } catch (const Error& error) {
      fail(fmt::format("{}: {}", what, error.what()));
    }
  }

  void check_nodes() const {
    const std::vector<Uop> roots = mote::roots(p_);
    for (const Uop& u : topological(roots)) {
      const std::string what = describe(u);
      if (count(extents(u, what), what) > 0)
        for_each_expr(u, [&](const Expr& e) { check_divisors(e, what); });
      const auto* reduce = std::get_if<uop::Reduce>(&u.node().kind);
      if (!reduce || (reduce->op != ReduceOp::argmax && reduce->op != ReduceOp::argmin)) continue;
      for (const int axis : reduce->axes) {
        const Expr& extent = reduce->x.shape()[static_cast<std::size_t>(axis)];
        if (value_of(extent, describe(u)) == 0)
          fail(fmt::format("{} over nothing: axis {} of its argument is {}", describe(u), axis,
                           text(extent, 0)));
      }
    }
  }

  const Program& p_;
  const std::vector<Extents>& shapes_;
  const std::map<std::string, Number>& given_;
  Binding b_;
};

}  // namespace

Binding bind(const Program& p, const std::vector<std::vector<std::int64_t>>& input_shapes,
             const std::map<std::string, Number>& params) {
  return Binder(p, input_shapes, params).run();
}

}  // namespace mote
