// Loop distribution, expansion of scalars to arrays of a tile, interchange. In: a loop with
// independent rounds; out: a loop over its tiles.
#include "interchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "dependence.h"
#include "rounds.h"

namespace mote {
namespace {

/// Thrown where the loop cannot move; caught at the end of this file.
struct Impossible {};

int count_readers(const Body& body, const std::string& name) {
  int found = 0;
  for_each(body, [&](const Stmt& s) {
    if (nested_body(s) != nullptr) {
      for_each_expr(s, [&](const Expr& e) {
        for_each_load(e, [&](const Atom& a) { found += a.tensor == name ? 1 : 0; });
      });
    } else {
      found += names_read(s).contains(name) ? 1 : 0;
    }
  });
  return found;
}

bool names_in_index(const Body& body, const std::string& name) {
  bool found = false;
  for_each(body, [&](const Stmt& s) {
    for_each_expr(s, [&](const Expr& e) {
      for_each_load(e, [&](const Atom& a) { found = found || a.tensor == name; });
    });
  });
  return found;
}

class Inward {
 public:
  Inward(LoopProgram& p, const Loop& loop, std::int64_t tile)
      : p_(p), loop_(loop), tile_(tile), start_(symbol(loop.variable.name() + "_tile")) {}

  Stmt run() {
    if (loop_.step != Expr(1) || !loop_.accumulators.empty() || !outer_folds(loop_).empty())
      throw Impossible{};
    Body body = distributed(loop_.body);
    return {Loop{start_, loop_.begin, loop_.end, Expr(tile_), {}, std::move(body)}};
  }

  std::string arrays() const {
    std::string out;
    for (const auto& [name, array] : arrays_)
      out += fmt::format("{}{}[{}] for {}", out.empty() ? "" : ", ", array, tile_, name);
    return out;
  }

 private:
  Symbol symbol(const std::string& hint) {
    std::string name = hint;
    for (int k = 2; fresh_name(p_, name) != name || !used_.insert(name).second; ++k)
      name = hint + std::to_string(k);
    return {SymbolKind::loop, name};
  }

  std::vector<Expr> place() const { return {Expr(loop_.variable) - Expr(start_)}; }

  const std::string& array_for(const std::string& name, DType dtype) {
    const auto found = arrays_.find(name);
    if (found != arrays_.end()) return found->second;
    const std::string array = symbol(name + "s").name();
    p_.tensors.push_back({array, TensorRole::temporary, dtype, {Expr(tile_)}, {""}, start_.name()});
    return arrays_.emplace(name, array).first->second;
  }

  Body distributed(const Body& body) {
    Body out;
    Body group;
    for (const Stmt& s : body) {
      const Body* inner = nested_body(s);
      if (inner == nullptr || (std::holds_alternative<If>(s.kind) && !holds_loop(*inner))) {
        group.push_back(s);
        continue;
      }
      close(group, out);
      if (const Loop* loop = as_loop(s)) {
        out.push_back({moved(*loop, out)});
      } else {
        out.push_back({moved(std::get<If>(s.kind))});
      }
    }
    close(group, out);
    return out;
  }

  /// Statements without loops get a loop over the tile.
  void close(Body& group, Body& out) {
    if (group.empty()) return;
    for (const Stmt& s : group) {
      const auto* let = std::get_if<Let>(&s.kind);
      if (let == nullptr || count_readers(group, let->name) == count_readers(loop_.body, let->name))
        continue;
      if (names_in_index(loop_.body, let->name)) throw Impossible{};
      array_for(let->name, let->value->dtype);
    }
    Body body;
    for (const Stmt& s : group) body.push_back(on_arrays(s));
    out.push_back(over_tile(std::move(body)));
    group.clear();
  }

  Stmt over_tile(Body body) {
    const Symbol v = symbol(loop_.variable.name());
    rewrite_values(body, [this](const Value& value) { return on_arrays(value); });
    rewrite_exprs(body, [&](const Expr& e) { return e.substitute({{loop_.variable, Expr(v)}}); });
    return {Loop{
        v, Expr(start_), min(Expr(start_) + Expr(tile_), loop_.end), Expr(1), {}, std::move(body)}};
  }

  Value on_arrays(const Value& v) {
    const auto* bound = std::get_if<value::Bound>(&v->kind);
    const auto* folded = std::get_if<value::Accumulated>(&v->kind);
    if (bound == nullptr && folded == nullptr) return v;
    const auto found = arrays_.find(bound != nullptr ? bound->name : folded->name);
    return found == arrays_.end() ? v : load_value(found->second, place(), v->dtype);
  }

  Stmt on_arrays(const Stmt& s) {
    if (const auto* fold = std::get_if<Fold>(&s.kind))
      return {StoreReduce{arrays_.at(fold->accumulator), place(), joining(fold->op), fold->value}};
    if (const auto* branch = std::get_if<If>(&s.kind)) {
      If copy{branch->conditions, {}};
      for (const Stmt& inner : branch->body) copy.body.push_back(on_arrays(inner));
      return {std::move(copy)};
    }
    const auto* let = std::get_if<Let>(&s.kind);
    if (let == nullptr || !arrays_.contains(let->name)) return s;
    return {Store{arrays_.at(let->name), place(), let->value}};
  }

  /// The folds that moved() lets through, as stores.
  static ScatterOp joining(ReduceOp op) {
    return op == ReduceOp::sum    ? ScatterOp::add
           : op == ReduceOp::prod ? ScatterOp::mul
           : op == ReduceOp::max  ? ScatterOp::max
                                  : ScatterOp::min;
  }

  /// The loop with the tile inside; `before` gets the start of its accumulators.
  Loop moved(const Loop& loop, Body& before) {
    for (const Expr* e : {&loop.begin, &loop.end, &loop.step})
      if (e->has_load() || e->mentions(loop_.variable)) throw Impossible{};
    Body starts;
    for (const Accumulator& a : loop.accumulators) {
      const bool plain = a.op == ReduceOp::sum || a.op == ReduceOp::prod || a.op == ReduceOp::max ||
                         a.op == ReduceOp::min;
      if (!plain || !is_real(a.dtype)) throw Impossible{};
      starts.push_back(
          {Store{array_for(a.name, a.dtype), place(), constant(neutral(a.op, a.dtype), a.dtype)}});
    }
    if (!starts.empty()) before.push_back(over_tile(std::move(starts)));
    return {loop.variable, loop.begin, loop.end, loop.step, {}, distributed(loop.body)};
  }

  /// Accumulators of loops in a branch are neutral where it is not taken: left alone.
  If moved(const If& branch) {
    for (const Condition& c : branch.conditions)
      if (c.e.has_load() || c.e.mentions(loop_.variable)) throw Impossible{};
    if (!accumulators_declared(branch.body).empty()) throw Impossible{};
    return {branch.conditions, distributed(branch.body)};
  }

  LoopProgram& p_;
  const Loop loop_;
  const std::int64_t tile_;
  std::set<std::string> used_;
  const Symbol start_;
  std::map<std::string, std::string> arrays_;  ///< of accumulators and names
};

}  // namespace

std::optional<Stmt> moved_inward(LoopProgram& p, const Stmt& loop, std::int64_t tile,
                                 std::string& step) {
  const auto own = independent_rounds(p, loop);
  if (!own || !own->empty()) return std::nullopt;
  const std::vector<TensorDecl> before = p.tensors;
  const Loop& moving = *as_loop(loop);
  try {
    Inward inward(p, moving, tile);
    Stmt moved = inward.run();
    step = fmt::format("move {} inward, by tiles of {}", moving.variable.name(), tile);
    if (!inward.arrays().empty()) step += ": " + inward.arrays();
    return moved;
  } catch (const Impossible&) {
    p.tensors = before;
    return std::nullopt;
  }
}

}  // namespace mote
