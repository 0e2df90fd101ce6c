// SPDX-License-Identifier: Apache-2.0
// Follows an index from the input through moves and "from the end if negative" to the Select,
// scatter or comparison that gives the length of its axis.
#include "case/indices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "mote/base/kernel_call.h"
#include "mote/base/plugin.h"

namespace mote {
namespace {

/// A node whose elements are moved elements of an input, with their indices in the node's loops.
struct Traced {
  std::size_t input;
  std::vector<Expr> at;
  bool from_end = false;  ///< a negative one counts from the end
};

/// A rule about an input's elements, or about those of a column: axes with a fixed index.
struct Rule {
  std::size_t input;
  std::vector<std::optional<Expr>> column;  ///< the index along each axis; nullopt: any
  Expr extent;
  bool from_end;
};

struct Rules {
  std::vector<Rule> all;
  std::map<std::size_t, std::vector<Expr>> others;  ///< other values with a meaning, by input
};

bool has_no_loop(const Expr& e) {
  return std::ranges::none_of(e.symbols(),
                              [](const Symbol& s) { return s.kind() == SymbolKind::loop; });
}

const uop::Map* as_map(const Uop& u, MapOp op) {
  const auto* m = std::get_if<uop::Map>(&u.node().kind);
  return m != nullptr && m->op == op ? m : nullptr;
}

/// The value of a position node that is the same for all elements.
std::optional<Expr> constant_of(const Uop& u) {
  const auto* i = std::get_if<uop::Iota>(&u.node().kind);
  return i != nullptr && has_no_loop(i->value) ? std::optional(i->value) : std::nullopt;
}

class RuleFinder {
 public:
  explicit RuleFinder(const Program& program) : program_(program) {
    const std::vector<Uop> outputs = roots(program);
    nodes_ = topological(outputs);
  }

  Rules run() {
    for (const Uop& u : nodes_) {
      if (auto t = trace(u)) traced_.emplace(u.id(), *std::move(t));
      note_indices(u);
    }
    for (const Uop& u : nodes_) {
      note_limits(u);
      note_hits(u);
    }
    for (const Uop& u : nodes_) note_others(u);
    return std::move(rules_);
  }

 private:
  const Traced* traced(const Uop& u) const {
    const auto at = traced_.find(u.id());
    return at == traced_.end() ? nullptr : &at->second;
  }

  std::optional<Traced> trace(const Uop& u) const {
    if (is_real(u.dtype()) || u.dtype() == DType::boolean) return std::nullopt;
    const uop::Kind& kind = u.node().kind;
    if (const auto* in = std::get_if<uop::Input>(&kind)) return trace_input(u, in->name);
    if (const auto* r = std::get_if<uop::Reindex>(&kind)) return moved(*r);
    if (const auto* s = std::get_if<uop::StopGradient>(&kind)) return copy(s->x);
    if (const auto* m = as_map(u, MapOp::cast)) return copy(m->args[0]);
    const auto* m = as_map(u, MapOp::where);
    return m != nullptr ? counted_from_end(*m) : std::nullopt;
  }

  std::optional<Traced> copy(const Uop& x) const {
    const Traced* t = traced(x);
    return t != nullptr ? std::optional(*t) : std::nullopt;
  }

  std::optional<Traced> trace_input(const Uop& u, const std::string& name) const {
    const auto k = find_input(program_, name);
    if (!k) return std::nullopt;
    Traced t{static_cast<std::size_t>(*k), {}};
    for (int axis = 0; axis < u.rank(); ++axis) t.at.push_back(Expr::loop(axis));
    return t;
  }

  std::optional<Traced> moved(const uop::Reindex& r) const {
    const Traced* x = traced(r.x);
    if (x == nullptr) return std::nullopt;
    std::map<Symbol, Expr> env;
    for (std::size_t k = 0; k < r.from.size(); ++k)
      env.emplace(*Expr::loop(static_cast<int>(k)).as_symbol(), r.from[k]);
    Traced t = *x;
    for (Expr& e : t.at) e = e.substitute(env);
    return t;
  }

  /// Matches where(x < 0, x + extent, x).
  std::optional<Traced> counted_from_end(const uop::Map& choice) const {
    const Uop& x = choice.args[2];
    const auto* below = as_map(choice.args[0], MapOp::lt);
    const auto* sum = as_map(choice.args[1], MapOp::add);
    if (traced(x) == nullptr || below == nullptr || sum == nullptr) return std::nullopt;
    const bool adds = sum->args[0].id() == x.id() || sum->args[1].id() == x.id();
    if (below->args[0].id() != x.id() || !adds) return std::nullopt;
    Traced t = *traced(x);
    t.from_end = true;
    return t;
  }

  void add(const Traced& t, const Expr& extent) {
    Rule rule{t.input, {}, extent, t.from_end};
    for (const Expr& e : t.at)
      rule.column.push_back(has_no_loop(e) ? std::optional(e) : std::nullopt);
    rules_.all.push_back(std::move(rule));
  }

  /// Notes an axis that an input indexes, and the nodes of the index, which may be compared with
  /// the axis's length.
  void note_indices(const Uop& u) {
    const auto* s = std::get_if<uop::Select>(&u.node().kind);
    const auto* w = std::get_if<uop::SelectScatter>(&u.node().kind);
    if (s == nullptr && w == nullptr) return;
    const Uop& index = s != nullptr ? s->index : w->index;
    const Uop& x = s != nullptr ? s->x : w->base;
    const int axis = s != nullptr ? s->axis : w->axis;
    if (const Traced* t = traced(index)) add(*t, x.shape()[static_cast<std::size_t>(axis)]);
    for (const Uop& of : topological(std::vector<Uop>{index})) in_index_.insert(of.id());
  }

  void note_limits(const Uop& u) {
    if (!in_index_.contains(u.id())) return;
    const auto* m = as_map(u, MapOp::lt);
    if (m == nullptr) return;
    const Traced* t = traced(m->args[0]);
    const auto extent = constant_of(m->args[1]);
    if (t != nullptr && extent) add(*t, *extent);
  }

  /// An element that is compared with a position along an axis is an index along that axis.
  void note_hits(const Uop& u) {
    const auto* m = as_map(u, MapOp::eq);
    if (m == nullptr) return;
    for (std::size_t k = 0; k < 2; ++k) {
      const Traced* t = traced(m->args[k]);
      const auto* i = std::get_if<uop::Iota>(&m->args[1 - k].node().kind);
      if (t == nullptr || i == nullptr) continue;
      for (int axis = 0; axis < u.rank(); ++axis)
        if (i->value == Expr::loop(axis)) add(*t, u.shape()[static_cast<std::size_t>(axis)]);
    }
  }

  void note_others(const Uop& u) {
    const auto* equal = as_map(u, MapOp::eq);
    const auto* m = equal != nullptr ? equal : as_map(u, MapOp::ne);
    if (m == nullptr) return;
    for (std::size_t k = 0; k < 2; ++k) {
      const Traced* t = traced(m->args[k]);
      const auto value = constant_of(m->args[1 - k]);
      if (t != nullptr && value) rules_.others[t->input].push_back(*value);
    }
  }

  const Program& program_;
  std::vector<Uop> nodes_;
  std::unordered_map<const UopNode*, Traced> traced_;
  std::unordered_set<const UopNode*> in_index_;
  Rules rules_;
};

const Rules& rules_of(const std::shared_ptr<const Program>& program) {
  static std::mutex mutex;
  static std::unordered_map<std::shared_ptr<const Program>, Rules> known;
  const std::lock_guard lock(mutex);
  const auto at = known.find(program);
  if (at != known.end()) return at->second;
  return known.emplace(program, RuleFinder(*program).run()).first->second;
}

/// A rule evaluated for one input of a case.
struct Limit {
  std::vector<std::optional<std::int64_t>> column;
  std::int64_t extent;
  bool from_end;
};

class InputLimits {
 public:
  InputLimits(const Case& c, std::size_t input) : tensor_(c.inputs[input]) {
    const Rules& rules = rules_of(c.program);
    for (const Rule& rule : rules.all) {
      if (rule.input != input) continue;
      Limit limit{{}, evaluate(rule.extent, c.binding.values), rule.from_end};
      for (std::size_t axis = 0; axis < rule.column.size(); ++axis)
        limit.column.push_back(column(c, rule.column[axis], axis));
      limits_.push_back(std::move(limit));
    }
    if (const auto others = rules.others.find(input); others != rules.others.end())
      for (const Expr& e : others->second) others_.push_back(evaluate(e, c.binding.values));
  }

  bool empty() const { return limits_.empty(); }
  bool lacks_element() const {
    return std::ranges::any_of(limits_, [](const Limit& l) { return l.extent < 1; });
  }

  /// The length of the axis of the element, and whether it may count from the end; nullopt if the
  /// op does not read the element as an index.
  std::optional<Limit> of(const std::vector<std::int64_t>& index) const {
    std::optional<Limit> found;
    for (const Limit& limit : limits_) {
      if (!applies(limit, index)) continue;
      if (!found) found = limit;
      found->extent = std::min(found->extent, limit.extent);
      found->from_end = found->from_end && limit.from_end;
    }
    return found;
  }

  bool fits(std::int64_t v, const Limit& limit, int flags) const {
    if ((flags & MOTE_INDICES_NOT_NEGATIVE) != 0 && v < 0) return false;
    if ((flags & MOTE_INDICES_VALID) == 0) return true;
    if (std::ranges::find(others_, v) != others_.end()) return true;
    return v < limit.extent && v >= (limit.from_end ? -limit.extent : 0);
  }

  static std::int64_t made_fit(std::int64_t v, const Limit& limit, int flags) {
    if ((flags & MOTE_INDICES_VALID) == 0) return -(v + 1);
    if (limit.extent < 1) return v;
    const bool may_be_negative = limit.from_end && (flags & MOTE_INDICES_NOT_NEGATIVE) == 0;
    const std::int64_t least = may_be_negative ? -limit.extent : 0;
    const std::int64_t span = limit.extent - least;
    const std::int64_t rest = (v % span + span) % span;
    return may_be_negative && rest >= limit.extent ? rest - span : rest;
  }

 private:
  /// The column; along a repeating axis all elements are one, which must be valid for every column.
  std::optional<std::int64_t> column(const Case& c, const std::optional<Expr>& given,
                                     std::size_t axis) const {
    if (!given) return std::nullopt;
    if (std::ranges::find(tensor_.layout.repeated, static_cast<int>(axis)) !=
        tensor_.layout.repeated.end())
      return std::nullopt;
    return evaluate(*given, c.binding.values);
  }

  static bool applies(const Limit& limit, const std::vector<std::int64_t>& index) {
    for (std::size_t axis = 0; axis < limit.column.size() && axis < index.size(); ++axis)
      if (limit.column[axis] && *limit.column[axis] != index[axis]) return false;
    return true;
  }

  const CaseTensor& tensor_;
  std::vector<Limit> limits_;
  std::vector<std::int64_t> others_;
};

/// Calls f(index, linear) for each element in row-major order.
template <typename F>
void for_each_position(const std::vector<std::int64_t>& shape, F&& f) {
  std::vector<std::int64_t> index(shape.size());
  const std::int64_t count = volume(shape);
  for (std::int64_t linear = 0; linear < count; ++linear) {
    f(index, linear);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

std::string kinds_text(int flags) {
  if (flags == MOTE_INDICES_NOT_NEGATIVE) return "that are not negative";
  return (flags & MOTE_INDICES_NOT_NEGATIVE) != 0 ? "that are valid and not negative"
                                                  : "that are valid";
}

}  // namespace

bool has_indices(const Program& program) { return !RuleFinder(program).run().all.empty(); }

void restrict_indices(const Case& c, std::size_t input, int flags, Dense& values) {
  if (flags == MOTE_INDICES_ANY) return;
  const InputLimits limits(c, input);
  if (limits.empty()) return;
  for_each_position(c.inputs[input].shape, [&](const auto& index, std::int64_t linear) {
    const auto limit = limits.of(index);
    if (!limit) return;
    const std::int64_t v = values.at(linear).integer();
    if (!limits.fits(v, *limit, flags))
      values.set(linear, Number(InputLimits::made_fit(v, *limit, flags)));
  });
}

std::string index_misfit(const Case& c, const std::vector<Dense>& inputs, int flags) {
  if (flags == MOTE_INDICES_ANY) return "";
  std::string misfit;
  for (std::size_t k = 0; k < inputs.size() && misfit.empty(); ++k) {
    const InputLimits limits(c, k);
    if (limits.empty()) continue;
    for_each_position(c.inputs[k].shape, [&](const auto& index, std::int64_t linear) {
      const auto limit = limits.of(index);
      if (!limit || !misfit.empty()) return;
      const std::int64_t v = inputs[k].at(linear).integer();
      if (!limits.fits(v, *limit, flags))
        misfit = fmt::format("its contract takes indices {} alone: {}[{}] is {}, its axis has {}",
                             kinds_text(flags), c.inputs[k].name, fmt::join(index, ","), v,
                             limit->extent);
    });
  }
  return misfit;
}

Case with_indices_for(const Case& c, const mote_backend& backend) {
  int flags = MOTE_INDICES_ANY;
  bool all = true;
  for (std::int32_t k = 0; k < backend.kernel_count; ++k) {
    const mote_kernel& kernel = kernel_at(backend, k);
    if (kernel.op != c.target->op()) continue;
    flags |= indices_of(*kernel.contract);
    all = all && indices_of(*kernel.contract) != MOTE_INDICES_ANY;
  }
  Case restricted = c;
  const bool is_free = !all && c.fill.seed % 2 == 0;
  if (flags != MOTE_INDICES_ANY && !is_free && !rules_of(c.program).all.empty())
    restricted.indices |= flags;
  return restricted;
}

bool lacks_valid_index(const Case& c) {
  for (std::size_t k = 0; k < c.inputs.size(); ++k)
    if (volume(c.inputs[k].shape) > 0 && InputLimits(c, k).lacks_element()) return true;
  return false;
}

}  // namespace mote
