// SPDX-License-Identifier: Apache-2.0
// The checks of a thunk on shapes: sizes follow from extents, extents agree, divisors of indices
// are positive.
#include <fmt/format.h>

#include <algorithm>

#include "c/thunk.h"

namespace mote::emit {

/// Returns the name of an extent for messages; empty for a constant, which needs none.
std::string Thunk::meaning(const Expr& e) const {
  if (e.constant()) return "";
  for (const NamedSize& s : source_.sizes)
    if (s.value == e) return s.name;
  return e.to_string();
}

/// Returns the divisors in e that are not known to be positive, inner ones first. Divisors that
/// vary from element to element are left out: make_program has proved that they are positive.
std::vector<Expr> Thunk::divisors_in(const Expr& e) const {
  std::vector<Expr> found;
  e.transform([&](const Atom& a) {
    if (a.kind != Atom::Kind::div && a.kind != Atom::Kind::mod) return Expr::from_atom(a);
    const Expr& d = a.args[1];
    const bool varies = d.has_load() || std::ranges::any_of(d.symbols(), [](Symbol s) {
                          return s.kind() == SymbolKind::loop;
                        });
    if (!varies && !facts_.prove_positive(d)) found.push_back(d);
    return Expr::from_atom(a);
  });
  return found;
}

/// Returns true if no check of e >= least has been written; from now on it counts as written.
bool Thunk::is_new(const Expr& e, int least) {
  const Expr key = e - Expr(least);
  if (std::ranges::find(checked_, key) != checked_.end()) return false;
  checked_.push_back(key);
  return true;
}

/// Writes checks that the divisors in e are 1 or more.
void Thunk::divisors(const Expr& e) {
  for (const Expr& d : divisors_in(e))
    if (is_new(d, 1))
      line(fmt::format("mote_thunk_divisor(&thunk, 0, {}, {});", code(d), quoted(d.to_string())));
}

/// Writes the same checks for an index that is computed for each element of a shape: an empty shape
/// has none, and a divisor that is a factor of the shape and not negative is 1 or more in any
/// other.
void Thunk::index_divisors(const Expr& e, const std::vector<Expr>& shape) {
  Expr count = 1;
  for (const Expr& extent : shape) count = count * extent;
  for (const Expr& d : divisors_in(e)) {
    const bool is_factor =
        split_by(count, d).remainder == Expr(0) && d.terms().size() == 1 && facts_.prove_nonneg(d);
    const std::pair<Expr, Expr> key(count, d);
    if (is_factor || std::ranges::find(checked_, d - 1) != checked_.end() ||
        std::ranges::find(guarded_, key) != guarded_.end())
      continue;
    guarded_.push_back(key);
    std::string empty;
    for (const Expr& extent : shape)
      if (!facts_.prove_positive(extent))
        empty +=
            (empty.empty() ? "" : " || ") + within(printer_.expr(extent, facts_), kSum) + " == 0";
    line(fmt::format("mote_thunk_divisor(&thunk, {}, {}, {});", empty.empty() ? "0" : empty,
                     code(d), quoted(d.to_string())));
  }
}

void Thunk::sizes() {
  printer_.limit_sizes(0);
  for (const SizeRule& rule : source_.size_rules) {
    const auto input_name = [this](int k) {
      return as_input(source_.inputs[static_cast<std::size_t>(k)]).name;
    };
    const std::string& size = names_.size(rule.size.name());
    if (!rule.candidates.empty()) {
      std::string items;
      for (const auto& [input, axis] : rule.candidates)
        items += fmt::format("{}{}.extents[{}]", items.empty() ? "" : ", ",
                             printer_.read(names_.tensor(input_name(input))), axis);
      step("int64_t", size,
           fmt::format("mote_thunk_broadcast({}, (const int64_t[]){{{}}})", rule.candidates.size(),
                       items));
      continue;
    }
    divisors(rule.scale);
    divisors(rule.offset);
    if (!out_.empty()) step("", "", std::exchange(out_, ""));
    const Expr written = rule.scale * Expr(rule.size) + rule.offset;
    step("int64_t", size,
         fmt::format("mote_thunk_size(&thunk, {}, {}, {}, {}, {})",
                     view(tensor(input_name(rule.input))), rule.axis, code(rule.scale),
                     code(rule.offset), quoted(written.to_string())));
  }
  printer_.limit_sizes(source_.sizes.size());
}

void Thunk::extents() {
  for (const TensorDecl& t : p_.tensors) {
    if (t.role == TensorRole::temporary) continue;
    for (std::size_t axis = 0; axis < t.shape.size(); ++axis) {
      const bool solved = std::ranges::any_of(source_.size_rules, [&](const SizeRule& rule) {
        return t.role == TensorRole::input && rule.candidates.empty() &&
               as_input(source_.inputs[static_cast<std::size_t>(rule.input)]).name == t.name &&
               rule.axis == static_cast<int>(axis);
      });
      if (solved) continue;
      divisors(t.shape[axis]);
      line(fmt::format("mote_thunk_extent(&thunk, {}, {}, {}, {});", view(t), axis,
                       code(t.shape[axis]), quoted(meaning(t.shape[axis]))));
    }
  }
  for (const Constraint& c : source_.constraints) {
    divisors(c.left);
    divisors(c.right);
    line(fmt::format("mote_thunk_equal(&thunk, {}, {}, {}, {});", code(c.left), code(c.right),
                     quoted(c.left.to_string()), quoted(c.right.to_string())));
  }
}

/// Writes checks that no extent is negative, no divisor below 1, and nothing empty under an argmax.
void Thunk::nodes() {
  const auto at_least = [this](const Expr& e, int least) {
    divisors(e);  // which the next line counts as >= 1
    if (facts_.prove_nonneg(e - Expr(least)) || !is_new(e, least)) return;
    const std::string text = meaning(e).empty() ? "an extent" : meaning(e);
    line(fmt::format("mote_thunk_at_least(&thunk, {}, {}, {});", code(e), least, quoted(text)));
  };
  for (const NamedSize& s : source_.sizes) divisors(s.value);
  for (const Uop& u : nodes_) {
    for (const Expr& e : u.shape()) at_least(e, 0);
    if (const auto* reindex = std::get_if<uop::Reindex>(&u.node().kind))
      for (const Expr& e : reindex->from) index_divisors(e, u.shape());
    if (const auto* iota = std::get_if<uop::Iota>(&u.node().kind))
      index_divisors(iota->value, u.shape());
    const auto* reduce = std::get_if<uop::Reduce>(&u.node().kind);
    if (!reduce || (reduce->op != ReduceOp::argmax && reduce->op != ReduceOp::argmin)) continue;
    for (const int axis : reduce->axes)
      at_least(reduce->x.shape()[static_cast<std::size_t>(axis)], 1);
  }
}

}  // namespace mote::emit
