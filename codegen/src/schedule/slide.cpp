// SPDX-License-Identifier: Apache-2.0
#include "schedule/slide.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/dependence.h"
#include "ir/references.h"
#include "mote/codegen/walk.h"
#include "passes/conditions.h"
#include "schedule/iterations.h"
#include "schedule/tile.h"
#include "schedule/tiles/nest.h"

namespace mote {
namespace {

/// Tries the last loop of the nest.
class Slider {
 public:
  Slider(LoopProgram& p, const SharedLoops& chain, std::int64_t stride, std::set<std::string> used)
      : p_(p),
        chain_(chain),
        loop_(*chain.loops.back()),
        v_(loop_.variable),
        stride_(stride),
        used_(std::move(used)) {}

  std::optional<Innermost> run(TileOfIterations tile) {
    Body body = loop_.body;
    if (!find_window(body) || !adjacent_) return std::nullopt;
    try {
      substitute(body, known_);
      body = with_still_limits(body, {}, facts_in(p_, chain_));
      if (turned_.empty() && stride_ == 1) return std::nullopt;  // it moves inward as any loop does
      const Symbol start = Tiler::fresh_variable(p_, v_.name() + "_tile", used_);
      Tiler tiler(p_, body, {{v_, loop_.begin, loop_.end, tile.most, start, Expr(start)}},
                  chain_.own, used_);
      Body inner;
      inner.push_back({Loop{start, loop_.begin, loop_.end, tile.most, {}, tiler.distributed()}});
      std::vector<LoopRange> outer;
      for (const Loop* l : chain_.loops)
        if (l != &loop_) outer.push_back({l->variable, l->begin, l->end});
      Innermost taken{in_loops(outer, std::move(inner)), *adjacent_, {}, {}};
      for (const auto& [parameter, value] : known_)
        taken.demands.push_back({Condition::Kind::zero, Expr(parameter) - value});
      add_demands(taken.demands, {{Condition::Kind::nonneg, loop_.end - loop_.begin - tile.least}});
      taken.step.effect =
          fmt::format("{} by {} inside {}, by tiles of {}: {}", v_.name(), stride_,
                      turned_.empty() ? "its window" : turned_, tile.most, tiler.arrays());
      return taken;
    } catch (const CannotTile&) {
      return std::nullopt;
    }
  }

 private:
  /// Returns true if each access that changes with the loop does so on one axis, by a constant
  /// step, and some read adds the variable of an inner loop there. Parameters that multiply the
  /// loop's variable get the stride as their value.
  bool find_window(const Body& body) {
    std::set<Symbol> inner;
    for_each(body, [&](const Stmt& s) {
      if (const Loop* l = as_loop(s)) inner.insert(l->variable);
    });
    bool slides = false;
    for (const Access& a : accesses(body)) {
      int moving = 0;
      for (std::size_t axis = 0; axis < a.index.size(); ++axis) {
        if (!a.index[axis].mentions(v_)) continue;
        const auto linear = linear_in(a.index[axis], v_);
        if (!linear || ++moving > 1 || linear->rest.has_load()) return false;
        const TensorDecl* t = find_tensor(p_, a.tensor);
        const bool is_output = t->role == TensorRole::output;
        if (a.write && is_output && !adjacent_)
          adjacent_ = KnownStride{a.tensor, static_cast<int>(axis), 1};
        const bool has_stride = goes_by_stride(linear->factor);
        if (!has_stride && linear->factor != Expr(1)) return false;
        slides = slides || (!a.write && has_stride && std::ranges::any_of(inner, [&](Symbol k) {
                   return linear->rest.mentions(k);
                 }));
      }
    }
    return slides;
  }

  /// Returns true if the factor is the stride, or a parameter that is to have it as its value.
  bool goes_by_stride(const Expr& factor) {
    if (factor.constant()) return factor == Expr(stride_);
    const auto parameter = factor.as_symbol();
    if (!parameter || parameter->kind() != SymbolKind::param) return false;
    known_.emplace(*parameter, stride_);
    return true;
  }

  /// Returns the body with loops whose limits do not change with the loop that moves inward; those
  /// that did are conditions around the innermost statements, and `pending` are those of the loops
  /// around the body.
  Body with_still_limits(const Body& body, const Conditions& pending, const Facts& facts) {
    Body out;
    Body rest;
    for (const Stmt& s : body) {
      const Loop* loop = as_loop(s);
      if (loop == nullptr && !pending.empty() && nested_body(s) != nullptr)
        throw CannotTile{"a branch in the window"};
      if (loop != nullptr)
        out.push_back({with_still_limits(*loop, pending, facts)});
      else
        (pending.empty() ? out : rest).push_back(s);
    }
    if (rest.empty()) return out;
    if (!out.empty()) throw CannotTile{"a window does more than its innermost loop"};
    out.push_back({If{pending, std::move(rest)}});
    return out;
  }

  Loop with_still_limits(const Loop& loop, Conditions pending, Facts facts) {
    Loop still = loop;
    const Expr k(loop.variable);
    Conditions moving;
    still.begin = split(loop.begin, Atom::Kind::max, [&](const Expr& e) {
      moving.push_back({Condition::Kind::nonneg, k - e});
    });
    still.end = split(loop.end, Atom::Kind::min, [&](const Expr& e) {
      moving.push_back({Condition::Kind::nonneg, e - k - 1});
    });
    facts.set_range(loop.variable, still.begin, still.end);
    const auto kept = clean(moving, facts);
    if (!kept) throw CannotTile{"a window that is always empty"};
    pending.insert(pending.end(), kept->begin(), kept->end());
    if (!moving.empty()) turned_ += (turned_.empty() ? "" : ", ") + loop.variable.name();
    still.body = with_still_limits(loop.body, pending, facts);
    return still;
  }

  /// Returns the limit without the parts that change with the loop, which are handed to `f`.
  Expr split(const Expr& limit, Atom::Kind kind, const std::function<void(const Expr&)>& f) const {
    std::optional<Expr> still;
    for (const Expr& e : arms(limit, kind)) {
      if (e.mentions(v_))
        f(e);
      else
        still = !still ? e : kind == Atom::Kind::max ? max(*still, e) : min(*still, e);
    }
    if (!still) throw CannotTile{"a window without a size"};
    return *still;
  }

  LoopProgram& p_;
  const SharedLoops& chain_;
  const Loop& loop_;
  const Symbol v_;
  const std::int64_t stride_;
  std::map<Symbol, Expr> known_;  ///< parameters that must be the stride
  std::optional<KnownStride> adjacent_;
  std::string turned_;  ///< loops whose limits have moved
  std::set<std::string> used_;
};

}  // namespace

std::optional<Innermost> slid_inward(LoopProgram& p, const Stmt& nest, TileOfIterations tile,
                                     std::int64_t stride, std::set<std::string>& used) {
  const auto chain = shared_loops(p, nest);
  if (!chain || !holds_loop(chain->loops.back()->body)) return std::nullopt;
  const std::vector<TensorDecl> before = p.tensors;
  auto taken = Slider(p, *chain, stride, used).run(tile);
  if (!taken) {
    p.tensors = before;
    return std::nullopt;
  }
  for_each(taken->body, [&](const Stmt& s) {
    if (const Loop* l = as_loop(s)) used.insert(l->variable.name());
  });
  return taken;
}

}  // namespace mote
