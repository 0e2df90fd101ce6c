// SPDX-License-Identifier: Apache-2.0
// Finds the nests and their axes, and puts the loops over tiles around what NestTiler makes of the
// body.
#include "schedule/register_tile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/dependence.h"
#include "mote/codegen/passes.h"
#include "mote/codegen/walk.h"
#include "schedule/iterations.h"
#include "schedule/nest_tiler.h"
#include "schedule/operands.h"
#include "schedule/paths.h"
#include "schedule/row_tile.h"
#include "schedule/unit_strides.h"

namespace mote {
namespace {

/// The loops of a nest that are tiled.
struct Axes {
  Symbol vector, rows;
};

/// Returns the names and scalars that an iteration of the chain gives values to.
std::set<std::string> own_names(const SharedLoops& chain) {
  std::set<std::string> own = chain.own;
  for_each(chain.loops.back()->body, [&](const Stmt& s) {
    if (const auto* let = std::get_if<Let>(&s.kind)) own.insert(let->name);
    if (const Loop* loop = as_loop(s))
      for (const Accumulator& a : loop->accumulators) own.insert(a.name);
  });
  return own;
}

/// Returns true if an index of the operands adds the variable to one of the reduction.
bool is_mixed(const SharedOperands& shared, const ReductionNest& nest, Symbol variable) {
  bool mixed = false;
  for (const SharedOperand& o : shared.operands)
    for_each_value(o.value, [&](const Value& v) {
      const auto* load = std::get_if<value::Load>(&v->kind);
      if (load == nullptr) return;
      for (const Expr& e : load->index)
        mixed = mixed ||
                (e.mentions(variable) && std::ranges::any_of(nest.loops, [&](const LoopRange& l) {
                   return e.mentions(l.variable);
                 }));
    });
  return mixed;
}

class NestFinder {
 public:
  NestFinder(const LoopProgram& p, const SharedLoops& chain, bool may_multiply_padding)
      : p_(p), chain_(chain), own_(own_names(chain)), may_multiply_padding_(may_multiply_padding) {
    const Facts facts = facts_in(p, chain);
    for (const Stmt& s : chain.loops.back()->body)
      if (const Loop* loop = as_loop(s))
        if (auto nest = reduction_nest(*loop, facts))
          reductions_.emplace(loop->variable, *std::move(nest));
  }

  /// Returns the axes for the first reduction that can be tiled.
  std::optional<Axes> axes(VectorAxis which) const {
    const auto& loops = chain_.loops;
    for (auto v = loops.rbegin(); v != loops.rend(); ++v) {
      for (auto m = loops.rbegin(); m != loops.rend(); ++m) {
        if (m == v) continue;
        const Axes axes{(*v)->variable, (*m)->variable};
        for (const auto& [variable, nest] : reductions_) {
          const auto tiled = reduction(nest, axes);
          if (!tiled) continue;
          const bool mixed = is_mixed(tiled->shared, nest, axes.vector);
          if (which == VectorAxis::innermost) return mixed ? std::optional(axes) : std::nullopt;
          if (!mixed) return axes;
        }
      }
      if (which == VectorAxis::innermost) return std::nullopt;
    }
    return std::nullopt;
  }

  /// Returns the reductions that can be tiled along these axes, by their outermost variables.
  std::map<Symbol, TiledReduction> reductions(const Axes& axes) const {
    std::map<Symbol, TiledReduction> found;
    for (const auto& [variable, nest] : reductions_)
      if (auto tiled = reduction(nest, axes)) found.emplace(variable, *std::move(tiled));
    return found;
  }

 private:
  std::optional<TiledReduction> reduction(const ReductionNest& nest, const Axes& axes) const {
    auto shared = shared_operands(nest, axes.vector, axes.rows, own_);
    if (!shared) return std::nullopt;
    const bool pads = !shared->vector_conditions.empty() || !shared->row_conditions.empty();
    if (pads && !may_multiply_padding_) return std::nullopt;
    TiledReduction r{nest, *std::move(shared)};
    return reads_only_counted_elements(p_, chain_, r) ? std::optional(std::move(r)) : std::nullopt;
  }

  const LoopProgram& p_;
  const SharedLoops& chain_;
  std::set<std::string> own_;
  bool may_multiply_padding_;
  std::map<Symbol, ReductionNest> reductions_;
};

const Loop& loop_of(const SharedLoops& chain, Symbol variable) {
  return **std::ranges::find(chain.loops, variable, &Loop::variable);
}

/// Returns the stride that lets a store to an output along the variable be one of adjacent
/// elements.
std::optional<KnownStride> stored_adjacent(const LoopProgram& p, const Stmt& s, Symbol variable) {
  std::optional<KnownStride> found;
  const Body body = {s};
  for_each(body, [&](const Stmt& inner) {
    const auto* store = std::get_if<Store>(&inner.kind);
    if (store == nullptr || find_tensor(p, store->tensor)->role != TensorRole::output) return;
    for (std::size_t axis = 0; axis < store->index.size(); ++axis)
      if (!found && store->index[axis] == Expr(variable))
        found = KnownStride{store->tensor, static_cast<int>(axis), 1};
  });
  return found;
}

class RegisterTiling {
 public:
  RegisterTiling(LoopProgram& p, const RegisterShape& shape, VectorAxis axis, bool may_pad)
      : p_(p), shape_(shape), axis_(axis), may_pad_(may_pad) {}

  std::vector<std::string> run() {
    p_.body = tiled(Body(p_.body), p_.body);
    if (steps_.empty()) return {};
    p_.vector_bytes = shape_.vector_bytes;
    p_ = tighten(std::move(p_));
    return std::move(steps_);
  }

 private:
  /// Returns the body, a copy of `original` in the program, with its nests in tiles.
  Body tiled(Body body, const Body& original) {
    Body out;
    for (std::size_t k = 0; k < body.size(); ++k) {
      if (auto* branch = std::get_if<If>(&body[k].kind))
        branch->body = tiled(std::move(branch->body), std::get<If>(original[k].kind).body);
      else if (as_loop(body[k]) != nullptr && (tile(original[k], out) || rows(original[k], out)))
        continue;
      else if (Loop* loop = as_loop(body[k]))
        loop->body = within(*as_loop(original[k]), std::move(loop->body));
      out.push_back(std::move(body[k]));
    }
    return out;
  }

  /// Returns the body of the loop with tiles of rows.
  Body within(const Loop& original, Body body) {
    around_.push_back(&original);
    body = tiled(std::move(body), original.body);
    around_.pop_back();
    return body;
  }

  bool rows(const Stmt& s, Body& out) {
    const auto chain = shared_loops(p_, s);
    if (!chain || axis_ == VectorAxis::innermost) return false;
    const Loop& rows = *chain->loops.back();
    std::vector<const Loop*> around = around_;
    around.insert(around.end(), chain->loops.begin(), chain->loops.end() - 1);
    const std::vector<TensorDecl> before = p_.tensors;
    try {
      auto tile = tiled_rows(p_, rows, around, chain->own, shape_, used_);
      if (tile) {
        std::vector<LoopRange> outer;
        for (const Loop* l : around)
          if (std::ranges::find(around_, l) == around_.end())
            outer.push_back({l->variable, l->begin, l->end});
        take(in_loops(outer, std::move(tile->body)), tile->demands, tile->step, out);
        p_.is_for_no_larger_vectors = true;  // the text of several widths would be long
        return true;
      }
    } catch (const CannotTile&) {
    }
    p_.tensors = before;
    return false;
  }

  /// Appends what takes the place of a nest.
  void take(Body nest, const Conditions& demands, std::string step, Body& out) {
    for_each(nest, [&](const Stmt& inner) {
      if (const Loop* loop = as_loop(inner)) used_.insert(loop->variable.name());
    });
    std::ranges::move(nest, std::back_inserter(out));
    add_missing(p_.demands, demands);
    steps_.push_back(std::move(step));
  }

  bool tile(const Stmt& s, Body& out) {
    const auto chain = shared_loops(p_, s);
    if (!chain || !around_.empty()) return false;
    const NestFinder finder(p_, *chain, may_pad_);
    const auto axes = finder.axes(axis_);
    if (!axes) return false;
    std::optional<KnownStride> adjacent;
    if (axis_ == VectorAxis::innermost) {
      adjacent = stored_adjacent(p_, s, axes->vector);
      if (!adjacent || !are_compatible(p_.strides, {*adjacent})) return false;
    }
    const std::vector<TensorDecl> before = p_.tensors;
    try {
      NestTiler tiler(p_, *chain, finder.reductions(*axes),
                      {loop_of(*chain, axes->vector), loop_of(*chain, axes->rows), shape_,
                       axis_ == VectorAxis::innermost, used_});
      Body nest = tiler.run();
      take(std::move(nest), tiler.demands(), tiler.step(), out);
      if (adjacent) add_missing(p_.strides, {*adjacent});
      p_.multiplies_padding = p_.multiplies_padding || tiler.multiplies_padding();
      return true;
    } catch (const CannotTile&) {
      p_.tensors = before;
      return false;
    }
  }

  LoopProgram& p_;
  const RegisterShape shape_;
  const VectorAxis axis_;
  const bool may_pad_;
  std::vector<std::string> steps_;
  std::set<std::string> used_;        ///< loop variables of the nests so far
  std::vector<const Loop*> around_;  ///< the loops of the program around the statement
};

}  // namespace

std::vector<std::string> tile_in_registers(LoopProgram& p, const RegisterShape& shape,
                                           VectorAxis axis, bool may_multiply_padding) {
  return RegisterTiling(p, shape, axis, may_multiply_padding).run();
}

}  // namespace mote
