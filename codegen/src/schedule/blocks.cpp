// SPDX-License-Identifier: Apache-2.0
// In: `for g { for t { fills w[g, t, …] } }`, and loops behind it that read w: over g and t again,
// or with a sum over g and t in the innermost body. Out: a loop over blocks of t, whose body has
// these iterations of t, of the loops that read, and of the sums, which go on in arrays.
#include "schedule/blocks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ir/dependence.h"
#include "mote/codegen/in_place.h"
#include "mote/codegen/passes.h"
#include "passes/conditions.h"
#include "schedule/block_arrays.h"
#include "schedule/combine.h"
#include "schedule/iterations.h"
#include "schedule/tile.h"
#include "schedule/tiles/nest.h"

namespace mote {
namespace {

/// Returns the paths of the loop and of the loops around it whose body is just the next one, the
/// outermost first.
std::vector<Path> chain_around(const LoopProgram& p, const Path& loop) {
  std::vector<Path> chain = {loop};
  while (chain.front().size() > 1) {
    const Path above(chain.front().begin(), chain.front().end() - 1);
    const Loop* l = as_loop(at(p, above));
    if (l == nullptr || l->body.size() != 1 || l->kind != LoopKind::serial) break;
    chain.insert(chain.begin(), above);
  }
  return chain;
}

class Blocker {
 public:
  Blocker(LoopProgram& p, const Path& loop, std::int64_t amount)
      : p_(p), amount_(amount), first_(chain_around(p, loop).front()) {
    for (const Path& path : chain_around(p, loop)) loops_.push_back(*as_loop(at(p, path)));
  }

  /// Returns the arrays of a block.
  std::vector<std::string> run() {
    const std::size_t position = first_.back();
    Body& body =
        first_.size() == 1 ? p_.body : *nested_body(at(p_, Path(first_.begin(), first_.end() - 1)));
    check_loop(body[position]);
    arrays_.emplace(p_, body, position, loops_);
    check_others(body, position);
    start_ = symbol(loops_.back().variable.name() + "_block");
    Body before, of_block, after, rest;
    of_block.push_back(filling());
    for (std::size_t k = 0; k < body.size(); ++k) {
      if (k == position) continue;
      if (k > position && arrays_->are_read(body[k]))
        add_reader(body[k], before, of_block, after);
      else
        (k < position ? before : rest).push_back(body[k]);
    }
    body = std::move(before);
    body.push_back(in_blocks(std::move(of_block)));
    std::ranges::move(after, std::back_inserter(body));
    std::ranges::move(rest, std::back_inserter(body));
    arrays_->shrink(p_.tensors, amount_, start_);
    return {arrays_->names().begin(), arrays_->names().end()};
  }

 private:
  const Loop& blocked() const { return loops_.back(); }

  Symbol symbol(const std::string& hint) { return Tiler::fresh_variable(p_, hint, used_); }

  void check_loop(const Stmt& s) const {
    if (auto why = why_not_serial(s)) throw NoBlocks{*why};
    if (std::string why = why_dependent(p_, s); !why.empty()) throw NoBlocks{why};
    const auto chain = shared_loops(p_, s);
    if (!chain || chain->loops.size() < loops_.size())
      throw NoBlocks{fmt::format("the iterations of {} are not known to be independent",
                                 blocked().variable.name())};
    for (const Loop& l : loops_)
      if (l.step != Expr(1) || !is_fixed(l.begin) || !is_fixed(l.end))
        throw NoBlocks{
            fmt::format("{} has another step than 1, or limits that change", l.variable.name())};
  }

  /// Throws NoBlocks unless statements that change places have nothing but the arrays in common.
  void check_others(const Body& body, std::size_t position) const {
    const auto of = [&](std::size_t k) {
      Effects e = effects_of({&body[k], 1});
      for (const std::string& a : arrays_->names()) {
        e.touched.erase(a);
        e.written.erase(a);
      }
      return e;
    };
    for (std::size_t k = position + 1; k < body.size(); ++k) {
      if (!arrays_->are_read(body[k])) continue;
      for (std::size_t other = position; other < k; ++other)
        if (!are_independent(of(other), of(k)))
          throw NoBlocks{"the loops that read its arrays depend on one another"};
    }
  }

  /// Returns the loop's own iterations of a block.
  Stmt filling() {
    Stmt s = Stmt{loops_.back()};
    Loop& loop = *as_loop(s);
    limit(loop);
    arrays_->access_block(loop.body, Expr(loop.variable), start_);
    return s;
  }

  /// Throws NoBlocks unless all iterations of the loop are some of the blocked loop's: a loop may
  /// also run over elements that it fills.
  void check_within(const Loop& loop, const std::vector<Loop>& around) const {
    Facts facts = base_facts(*p_.source);
    for (const Loop& l : around)
      if (l.variable != loop.variable) facts.set_range(l.variable, l.begin, l.end);
    const auto begin = arms(loop.begin, Atom::Kind::max), end = arms(loop.end, Atom::Kind::min);
    const auto is_behind = [&](const Expr& e) { return facts.prove_nonneg(e - blocked().begin); };
    const auto is_ahead = [&](const Expr& e) { return facts.prove_nonneg(blocked().end - e); };
    if (loop.step != Expr(1) || std::ranges::none_of(begin, is_behind) ||
        std::ranges::none_of(end, is_ahead))
      throw NoBlocks{fmt::format("{} may run over more than {}", loop.variable.name(),
                                 blocked().variable.name())};
  }

  /// Gives the loop the iterations of a block.
  void limit(Loop& loop) const {
    Expr begin(start_);
    Expr end = min(Expr(start_) + amount_, blocked().end);
    for (const Expr& e : arms(loop.begin, Atom::Kind::max))
      if (e != blocked().begin) begin = max(begin, e);
    for (const Expr& e : arms(loop.end, Atom::Kind::min))
      if (e != blocked().end) end = min(end, e);
    loop.begin = begin;
    loop.end = end;
  }

  void add_reader(const Stmt& s, Body& before, Body& of_block, Body& after) {
    if (as_loop(s) == nullptr) throw NoBlocks{"an array is read outside of a loop"};
    if (auto why = why_not_serial(s)) throw NoBlocks{*why};
    const auto chain = shared_loops(p_, s);
    if (!chain || !chain->own.empty())
      throw NoBlocks{"the iterations of a loop that reads an array may depend on one another"};
    std::vector<Loop> loops;
    for (const Loop* l : chain->loops) loops.push_back(*l);
    Body body = std::move(loops.back().body);
    if (const auto along = arrays_->variables_along(s, loops))
      of_block.push_back(mapped(std::move(loops), std::move(body), *along));
    else
      add_sum(s, loops, std::move(body), before, of_block, after);
  }

  /// Takes loops along the arrays' axes out of the list, apart from the blocked one, which gets the
  /// iterations of a block; the body then has the variables of the loops around the block.
  void put_into_block(std::vector<Loop>& loops, Body& body, const std::vector<Symbol>& along,
                      const std::vector<Loop>& around) {
    for (std::size_t k = 0; k < along.size(); ++k) {
      const auto l = std::ranges::find(loops, along[k], &Loop::variable);
      if (k + 1 == along.size()) {
        check_within(*l, around);
        limit(*l);
        arrays_->access_block(body, Expr(l->variable), start_);
        continue;
      }
      if (l->begin != loops_[k].begin || l->end != loops_[k].end || l->step != Expr(1))
        throw NoBlocks{fmt::format("{} has other limits than {}", l->variable.name(),
                                   loops_[k].variable.name())};
      const std::map<Symbol, Expr> here = {{l->variable, Expr(loops_[k].variable)}};
      loops.erase(l);
      substitute(body, here);
      for (Loop& other : loops) {
        other.begin = other.begin.substitute(here);
        other.end = other.end.substitute(here);
      }
    }
  }

  static Stmt nested(const std::vector<Loop>& loops, Body body) {
    for (std::size_t k = loops.size(); k-- > 0;) {
      Loop l = loops[k];
      l.body = std::move(body);
      body = Body();
      body.push_back({std::move(l)});
    }
    return std::move(body.front());
  }

  /// Returns the reader's iterations of a block.
  Stmt mapped(std::vector<Loop> loops, Body body, const std::vector<Symbol>& along) {
    put_into_block(loops, body, along, loops_);
    return nested(loops, std::move(body));
  }

  /// Sums that a loop adds up, the loops of their terms, the outermost first, and the innermost
  /// body.
  struct Reduction {
    std::vector<Accumulator> sums;
    std::vector<Loop> loops;
    Body fold;
  };

  NoBlocks neither() const {
    return {fmt::format("a loop that reads {} neither runs along {} nor has a sum over it first",
                        fmt::join(arrays_->names(), " or "), blocked().variable.name())};
  }

  Reduction reduction_of(const Stmt& s) const {
    const Loop* first = as_loop(s);
    if (first == nullptr || first->accumulators.empty()) throw neither();
    Reduction r{first->accumulators, {}, {s}};
    for (const Accumulator& a : r.sums)
      if (!combine_of(a.op))
        throw NoBlocks{fmt::format("{} is no sum, product, maximum or minimum", a.name)};
    while (r.fold.size() == 1 && as_loop(r.fold.front()) != nullptr) {
      Loop l = *as_loop(r.fold.front());
      if (!r.loops.empty() && !l.accumulators.empty())
        throw NoBlocks{fmt::format("{} holds a sum of its own", r.sums.front().name)};
      r.fold = std::exchange(l.body, {});
      l.accumulators.clear();
      r.loops.push_back(std::move(l));
    }
    return r;
  }

  /// Adds a reader whose innermost body begins with sums over the arrays.
  void add_sum(const Stmt& s, const std::vector<Loop>& loops, Body body, Body& before,
               Body& of_block, Body& after) {
    Reduction r = reduction_of(body.front());
    const auto along = arrays_->variables_along(s, r.loops);
    if (!along) throw neither();
    body.erase(body.begin());
    if (reads_any(body)) throw NoBlocks{"an array is read outside of a sum"};
    std::vector<Expr> index;
    for (const Loop& l : loops) index.push_back(Expr(l.variable) - l.begin);
    std::map<std::string, std::string> arrays;
    Body zeros;
    for (const Accumulator& a : r.sums) {
      arrays.emplace(a.name, add_array(a, loops));
      const Value zero = constant(neutral(a.op, a.dtype), a.dtype);
      zeros.push_back({Store{arrays.at(a.name), index, zero}});
    }
    put_into_block(r.loops, r.fold, *along, loops);
    of_block.push_back(added(std::move(r), loops, arrays, index));
    before.push_back(renamed(loops, std::move(zeros)));
    rewrite_values(body, [&](const Value& v) {
      const auto* read = std::get_if<value::Accumulated>(&v->kind);
      return read == nullptr || !arrays.contains(read->name)
                 ? v
                 : load_value(arrays.at(read->name), index, v->dtype);
    });
    after.push_back(renamed(loops, std::move(body)));
  }

  /// Returns the loops that add a block's terms to the arrays. Where results lie along one loop, so
  /// that no two could share operands in a tile, each term is added to its element at once, in the
  /// order of the terms.
  static Stmt added(Reduction r, const std::vector<Loop>& loops,
                    const std::map<std::string, std::string>& arrays,
                    const std::vector<Expr>& index) {
    if (loops.size() == 1 && !have_limits_of(r.loops, loops.front().variable)) {
      to_elements(r.fold, arrays, index);
      return nested(r.loops, {nested(loops, std::move(r.fold))});
    }
    r.loops.front().accumulators = r.sums;
    Body sums;
    sums.push_back(nested(r.loops, std::move(r.fold)));
    for (const Accumulator& a : r.sums)
      sums.push_back({StoreReduce{arrays.at(a.name), index, *combine_of(a.op),
                                  accumulated_value(a.name, a.dtype)}});
    return nested(loops, std::move(sums));
  }

  static bool have_limits_of(const std::vector<Loop>& loops, Symbol v) {
    return std::ranges::any_of(
        loops, [&](const Loop& l) { return l.begin.mentions(v) || l.end.mentions(v); });
  }

  /// Makes folds add to the elements of the arrays.
  static void to_elements(Body& body, const std::map<std::string, std::string>& arrays,
                          const std::vector<Expr>& index) {
    for (Stmt& s : body) {
      if (const auto* f = std::get_if<Fold>(&s.kind); f && arrays.contains(f->accumulator))
        s = {StoreReduce{arrays.at(f->accumulator), index, *combine_of(f->op), f->value}};
      else if (Body* inner = nested_body(s))
        to_elements(*inner, arrays, index);
    }
  }

  bool reads_any(const Body& body) const {
    return std::ranges::any_of(body, [&](const Stmt& s) { return arrays_->are_read(s); });
  }

  /// Adds the array that holds the sums of all blocks so far.
  std::string add_array(const Accumulator& a, const std::vector<Loop>& loops) {
    const Facts facts = base_facts(*p_.source);
    std::vector<Expr> shape;
    for (const Loop& l : loops) {
      if (!is_fixed(l.begin) || !is_fixed(l.end))
        throw NoBlocks{fmt::format("{} has no limits of sizes alone", l.variable.name())};
      shape.push_back(facts.prove_nonneg(l.end - l.begin) ? l.end - l.begin
                                                          : max(0, l.end - l.begin));
    }
    std::string name = symbol(a.name + "_of_blocks").name();
    std::vector<std::string> axes(shape.size());
    p_.tensors.push_back({name, TensorRole::temporary, a.dtype, shape, std::move(axes)});
    return name;
  }

  /// Returns the body in the loops, with variables of new names.
  Stmt renamed(std::vector<Loop> loops, Body body) {
    std::map<Symbol, Expr> names;
    for (Loop& l : loops) {
      const Symbol v = symbol(l.variable.name());
      names.emplace(l.variable, Expr(v));
      l.variable = v;
    }
    substitute(body, names);
    return nested(loops, std::move(body));
  }

  /// Returns the loop over blocks, in the loops around it.
  Stmt in_blocks(Body body) {
    std::vector<Loop> loops = loops_;
    loops.back().variable = start_;
    loops.back().step = amount_;
    return nested(loops, std::move(body));
  }

  LoopProgram& p_;
  const std::int64_t amount_;
  const Path first_;
  std::vector<Loop> loops_;  ///< those around the blocked loop, and this one
  std::set<std::string> used_;
  std::optional<BlockArrays> arrays_;
  Symbol start_{SymbolKind::loop, "block"};
};

}  // namespace

Refusal run_in_blocks(LoopProgram& p, const Path& loop, std::int64_t amount, std::string& effect) {
  // Iterations of such a loop would share the sums that are kept from block to block.
  if (auto why = why_not_serial_around(p, loop)) return why;
  LoopProgram now = p;
  try {
    effect = fmt::format("arrays {}", fmt::join(Blocker(now, loop, amount).run(), ", "));
  } catch (const NoBlocks& e) {
    return e.why;
  }
  for (const InPlacePair& pair : pairs_in_place(p))
    if (auto why = why_not_in_place(now, {&pair, 1}))
      return fmt::format("a call in place that is allowed would not be any more: {}", *why);
  p = tighten(std::move(now));
  return std::nullopt;
}

}  // namespace mote
