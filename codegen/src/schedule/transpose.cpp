// SPDX-License-Identifier: Apache-2.0
#include "schedule/transpose.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "ir/dependence.h"
#include "ir/transposed.h"
#include "mote/base/dtype.h"
#include "schedule/iterations.h"
#include "schedule/tile.h"
#include "schedule/tiles/nest.h"
#include "schedule/unit_strides.h"

namespace mote {
namespace {

constexpr int kMaxVectorBytes = 64;

/// A nest that stores `y[…] = x[…]`, with the loops along which elements are adjacent.
struct Copy {
  SharedLoops chain;
  const Store* store;
  const value::Load* load;
  const Loop* read;     ///< the last axis of x is its variable
  const Loop* written;  ///< the last axis of y is its variable
};

/// Returns the loop of the chain whose variable is the last index; null if there is none.
const Loop* loop_along_last(const SharedLoops& chain, const std::vector<Expr>& index) {
  const auto is_last = [&](const Loop* l) {
    return axis_along(index, l->variable) == index.size() - 1;
  };
  const auto found = std::ranges::find_if(chain.loops, is_last);
  return found == chain.loops.end() ? nullptr : *found;
}

/// Returns the copy that the statement is, or why squares cannot make it.
std::variant<Copy, std::string> copy_of(const LoopProgram& p, const Stmt& nest) {
  auto chain = shared_loops(p, nest);
  if (!chain) return kDependent;
  const Body& body = chain->loops.back()->body;
  const auto* store = body.size() == 1 ? std::get_if<Store>(&body[0].kind) : nullptr;
  if (store == nullptr || !is_copy(p, *store))
    return "its nest does not only copy an input to an output";
  Copy copy{std::move(*chain), store, &std::get<value::Load>(store->value->kind), nullptr, nullptr};
  copy.read = loop_along_last(copy.chain, copy.load->index);
  copy.written = loop_along_last(copy.chain, store->index);
  if (copy.read == nullptr || copy.written == nullptr || copy.read == copy.written ||
      !axis_along(copy.load->index, copy.written->variable) ||
      !axis_along(store->index, copy.read->variable))
    return "the last axes of the input and of the output do not lie along two loops of the nest";
  for (const Loop* l : {copy.read, copy.written})
    if (l->begin != Expr(0) || l->step != Expr(1))
      return fmt::format("loop {} does not count from 0 by 1", l->variable.name());
  for (const Loop* l : copy.chain.loops)
    for (const Expr* e : {&l->begin, &l->end})
      if (e->has_load() || e->mentions(copy.read->variable) || e->mentions(copy.written->variable))
        return fmt::format("the limits of {} change", l->variable.name());
  return copy;
}

/// Makes the loops over blocks, over the squares of a block, and over the elements that they leave.
class SquareMaker {
 public:
  SquareMaker(const LoopProgram& p, const Copy& copy, std::int64_t lanes)
      : p_(p), copy_(copy), lanes_(lanes) {}

  Body run(std::int64_t block) {
    const Loop& n = *copy_.read;
    const Loop& m = *copy_.written;
    const Symbol start = fresh(n, "_start");
    const Expr length = min(Expr(block), n.end - Expr(start));
    const Expr in_squares_n = in_squares(length);
    const Expr in_squares_m = in_squares(m.end);
    Body parts;
    parts.push_back(squares(Expr(start), length, m.end));
    parts.push_back(copied({Expr(start), 0, length}, {0, in_squares_m, m.end}));
    parts.push_back(copied({Expr(start), in_squares_n, length}, {0, 0, in_squares_m}));
    Body body;
    body.push_back({Loop{start, n.begin, n.end, Expr(block), {}, std::move(parts)}});
    std::vector<LoopRange> outer;
    for (const Loop* l : copy_.chain.loops)
      if (l != copy_.read && l != copy_.written) outer.push_back({l->variable, l->begin, l->end});
    return in_loops(outer, std::move(body));
  }

 private:
  /// The iterations of one of the two loops: `from` and what a loop over begin..end adds to it.
  struct Iterations {
    Expr from;
    Expr begin;
    Expr end;
    LoopKind kind = LoopKind::serial;
  };

  Symbol fresh(const Loop& loop, const char* suffix) {
    return Tiler::fresh_variable(p_, loop.variable.name() + suffix, used_);
  }

  /// Returns the number of iterations, of all, that squares take.
  Expr in_squares(const Expr& all) const { return all / Expr(lanes_) * Expr(lanes_); }

  /// Returns the copy in two loops of their own.
  Stmt copied(const Iterations& n, const Iterations& m) {
    const Symbol row = fresh(*copy_.read, "_row");
    const Symbol lane = fresh(*copy_.written, "_lane");
    const std::map<Symbol, Expr> here = {{copy_.read->variable, n.from + Expr(row)},
                                         {copy_.written->variable, m.from + Expr(lane)}};
    const auto index_here = [&](const std::vector<Expr>& index) {
      std::vector<Expr> out;
      for (const Expr& e : index) out.push_back(e.substitute(here));
      return out;
    };
    Store store{
        copy_.store->tensor, index_here(copy_.store->index),
        load_value(copy_.load->tensor, index_here(copy_.load->index), copy_.store->value->dtype)};
    Loop inner{lane, m.begin, m.end, 1, {}, {{std::move(store)}}, m.kind};
    return {Loop{row, n.begin, n.end, 1, {}, {{std::move(inner)}}, n.kind}};
  }

  /// Returns the loops over the whole squares of these extents.
  Stmt squares(const Expr& start, const Expr& extent_n, const Expr& extent_m) {
    const Symbol n = fresh(*copy_.read, "_square");
    const Symbol m = fresh(*copy_.written, "_square");
    const Expr lanes(lanes_);
    Stmt square = copied({start + Expr(n) * lanes, 0, lanes, LoopKind::transposed},
                         {Expr(m) * lanes, 0, lanes, LoopKind::simd});
    Loop inner{n, 0, extent_n / lanes, 1, {}, {std::move(square)}};
    return {Loop{m, 0, extent_m / lanes, 1, {}, {{std::move(inner)}}}};
  }

  const LoopProgram& p_;
  const Copy& copy_;
  std::int64_t lanes_;
  std::set<std::string> used_;
};

std::int64_t bytes_of_element(const LoopProgram& p, const Copy& copy) {
  return static_cast<std::int64_t>(size_of(find_tensor(p, copy.load->tensor)->dtype));
}

}  // namespace

Refusal transpose_squares(LoopProgram& p, const Path& loop, std::int64_t block) {
  const Path nest = {loop.front()};
  if (as_loop(at(p, nest)) == nullptr) return "its nest is under a condition";
  if (auto why = why_not_serial(at(p, nest))) return why;
  const auto found = copy_of(p, at(p, nest));
  if (const auto* why = std::get_if<std::string>(&found)) {
    if (*why != kDependent) return *why;
    const std::string dependence = why_dependent(p, at(p, nest));
    return dependence.empty() ? "its nest is no loop of independent iterations" : dependence;
  }
  const auto& copy = std::get<Copy>(found);
  if (copy.read != as_loop(at(p, loop)))
    return fmt::format("adjacent elements of {} lie along {}", copy.load->tensor,
                       copy.read->variable.name());
  const std::int64_t lanes = p.vector_bytes / bytes_of_element(p, copy);
  if (lanes < 2 || lanes > kMaxTransposedLanes)
    return fmt::format("expected vectors of 2 to {} elements before it, got {}",
                       kMaxTransposedLanes, lanes);
  if (block % lanes != 0)
    return fmt::format("expected a multiple of the {} elements of a vector, got {}", lanes, block);
  const auto last_axis = [](const std::string& tensor, const std::vector<Expr>& index) {
    return KnownStride{tensor, static_cast<int>(index.size()) - 1, 1};
  };
  const std::vector<KnownStride> adjacent = {last_axis(copy.load->tensor, copy.load->index),
                                             last_axis(copy.store->tensor, copy.store->index)};
  if (!are_compatible(p.strides, adjacent)) return "steps before it rely on other strides";
  Body body = SquareMaker(p, copy, lanes).run(block);
  replace(p, nest, std::move(body));
  // Larger vectors that a version of its own can use leave this text out.
  p.is_for_no_larger_vectors = p.vector_bytes < kMaxVectorBytes && 2 * lanes <= kMaxTransposedLanes;
  add_missing(p.strides, adjacent);
  return std::nullopt;
}

std::optional<LoopToTranspose> loop_to_transpose(const LoopProgram& p) {
  if (p.body.size() != 1 || as_loop(p.body[0]) == nullptr) return std::nullopt;
  const auto found = copy_of(p, p.body[0]);
  const auto* copy = std::get_if<Copy>(&found);
  if (copy == nullptr) return std::nullopt;
  return LoopToTranspose{copy->read->variable.name(), bytes_of_element(p, *copy)};
}

}  // namespace mote
