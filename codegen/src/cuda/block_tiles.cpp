// SPDX-License-Identifier: Apache-2.0
// In: a stage and its form as a tile; out: loops of blocks over tiles, with shared memory,
// registers and barriers.
#include "block_tiles.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ir/dependence.h"
#include "passes/conditions.h"
#include "rewriting.h"

namespace mote::cuda {
namespace {

/// The threads of a block as rows and columns, each of which has a part of the tile's sums.
constexpr int kThreadRows = 8, kThreadColumns = 16;
constexpr int kRowsOfThread = kCudaTile / kThreadRows;
constexpr int kColumnsOfThread = kCudaTile / kThreadColumns;
static_assert(kThreadRows * kThreadColumns == kCudaThreads);
/// The lengths of rows in shared memory, in elements: a row is aligned, and starts at another bank
/// than the row before. For tf32, a warp reads eight locations of each of four rows at a time. Rows
/// of 16-bit elements run along the reduction.
constexpr int kPitch = kCudaTile + 4, kTf32Pitch = kCudaTile + 8, kNarrowPitch = kSlice + 8;
/// The slices of a pipelined tile: one is multiplied while two are copied.
constexpr int kSlices = 3;

Stmt loop_of(LoopKind kind, Symbol variable, Expr end, Body body, Expr step = 1) {
  return {Loop{variable, 0, std::move(end), std::move(step), {}, std::move(body), kind}};
}
template <typename... S>
Body body_of(S&&... statements) {
  Body body;
  (body.push_back(std::forward<S>(statements)), ...);
  return body;
}
Condition is_below(const Expr& e, const Expr& end) {
  return {Condition::Kind::nonneg, end - 1 - e};
}

/// A group of loops that are counted through as one axis of the tile.
struct Axis {
  const std::vector<LoopDigit>& loops;
  std::string hint;
  Expr count;                               ///< the number of iterations of all loops
  Symbol begin{SymbolKind::loop, "begin"};  ///< the variable of the loop over tiles, or slices
};

class BlockTiling {
 public:
  BlockTiling(const LoopProgram& p, const TileForm& form)
      : p_(p),
        form_(form),
        make_(p),
        facts_(base_facts(*p.source)),
        row_(axis(form.rows, "row")),
        column_(axis(form.columns, "column")),
        depth_(axis(form.reduced, "depth")) {}

  LoopProgram run() {
    declare();
    Body tile = zero();
    if (form_.is_pipelined)
      copy_ahead(tile);
    else
      tile.push_back(slices());
    tile.push_back(results());
    Body body = p_.body;
    *first_of_stage(body) = over_tiles(std::move(tile));
    LoopProgram out = std::move(make_).with(std::move(body));
    std::ranges::move(tensors_, std::back_inserter(out.tensors));
    return out;
  }

 private:
  static Stmt* first_of_stage(Body& stage) {
    Stmt* s = &stage.back();
    while (auto* branch = std::get_if<If>(&s->kind)) s = &branch->body.front();
    return s;
  }

  /// Returns the axis of these loops. A product of sizes has a name of its own.
  Axis axis(const std::vector<LoopDigit>& loops, const std::string& hint) {
    const std::string name = loops.size() == 1 ? loops.front().variable.name() : hint;
    Expr all = 1;
    for (const LoopDigit& d : loops) all = all * facts_.simplify(count_of(d));
    if (loops.size() > 1 && !is_moving(all)) all = make_.size(hint + "s", all);
    return {loops, name, all, make_.variable(name + "_begin")};
  }

  bool is_narrow_tile() const { return form_.fragments && *form_.fragments != DType::f32; }
  /// Returns true if helpers compute the sums, in fragments.
  bool has_fragments() const { return form_.fragments || form_.is_pipelined; }
  /// Returns the number of iterations of the reduction that a block takes at a time.
  int slice() const { return !form_.is_pipelined ? kSlice : is_narrow_tile() ? 32 : 16; }

  std::string declare(const std::string& hint, DType dtype, TensorMemory memory,
                      const std::vector<int>& shape) {
    TensorDecl t{make_.fresh(hint), TensorRole::temporary, dtype, {}, {}};
    for (const int extent : shape) t.shape.emplace_back(extent);
    t.axis_names.resize(shape.size());
    t.per = column_.begin;
    t.memory = memory;
    tensors_.push_back(t);
    return t.name;
  }

  void declare() {
    const DType of_sums = form_.accumulator->dtype;
    const int side = form_.side();
    const int pitch = form_.is_pipelined ? 0 : is_narrow_tile() ? kNarrowPitch : this->pitch();
    std::vector<int> staged = {2};
    if (form_.is_pipelined) staged.insert(staged.begin(), kSlices);
    const int rows = is_narrow_tile() ? side : slice();
    staged.insert(staged.end(), {rows, pitch != 0 ? pitch : side * slice() / rows});
    staged_ = declare("staged", form_.left->dtype, TensorMemory::shared, staged);
    tensors_.back().is_for_tensor_cores = form_.fragments.has_value();
    given_ = declare("given", of_sums, TensorMemory::shared,
                     {side / 2, form_.is_pipelined ? side + 4 : this->pitch()});
    if (!is_narrow_tile() || form_.is_pipelined) tensors_.back().in_place_of = staged_;
    const std::vector<int> mask = {kSlice, kPitch};
    if (!form_.left_where.empty())
      left_holds_ = declare("left_holds", DType::boolean, TensorMemory::shared, mask);
    if (!form_.right_where.empty())
      right_holds_ = declare("right_holds", DType::boolean, TensorMemory::shared, mask);
    sums_ = has_fragments()
                ? declare("sums", of_sums, TensorMemory::fragments, {side, side})
                : declare("sums", of_sums, TensorMemory::local,
                          {kThreadRows, kThreadColumns, kRowsOfThread, kColumnsOfThread});
    if (has_fragments()) return;
    const DType of_operands = form_.left->dtype;
    left_ = declare("left", of_operands, TensorMemory::local,
                    {kThreadRows, kThreadColumns, kRowsOfThread});
    right_ = declare("right", of_operands, TensorMemory::local,
                     {kThreadRows, kThreadColumns, kColumnsOfThread});
  }

  int pitch() const { return form_.fragments == DType::f32 ? kTf32Pitch : kPitch; }

  /// Gives the loop the variables of the axis at that position: digits of it, or what `env` then
  /// has for the only one.
  void count_through(Loop& loop, const Axis& axis, const Expr& position,
                     std::map<Symbol, Expr>& env) {
    if (axis.loops.size() == 1) {
      const LoopDigit& d = axis.loops.front();
      env.emplace(d.variable, d.begin + d.step * position);
      return;
    }
    loop.number = position;
    for (const LoopDigit& d : axis.loops) {
      loop.digits.push_back(d);
      // Variables of a program are unique: the first loop has those of the stage.
      if (!used_.insert(d.variable).second)
        loop.digits.back().variable = make_.variable(d.variable.name());
      env.emplace(d.variable, Expr(loop.digits.back().variable));
    }
  }

  /// Returns `for a { for b { body } }`, whose body is made from what the variables of both axes
  /// are there. The threads share both loops, or copy ahead.
  template <typename F>
  Stmt threads_over(const Axis& outer, const Expr& from, int outer_extent, const Axis& inner,
                    const Expr& inner_from, int inner_extent, const F& body,
                    bool is_ahead = false) {
    const Symbol a = make_.variable("location"), b = make_.variable("slot");
    std::map<Symbol, Expr> env;
    Stmt inside =
        loop_of(is_ahead ? LoopKind::serial : LoopKind::block_threads, b, inner_extent, {});
    Stmt outside =
        loop_of(is_ahead ? LoopKind::ahead : LoopKind::block_threads, a, outer_extent, {});
    count_through(*as_loop(outside), outer, from + Expr(a), env);
    count_through(*as_loop(inside), inner, inner_from + Expr(b), env);
    as_loop(inside)->body = body(Expr(a), Expr(b), env);
    as_loop(outside)->body.push_back(std::move(inside));
    return outside;
  }

  /// The loops of a thread over its sums, and where the sum is.
  struct OwnSums {
    std::vector<Expr> at;  ///< the index in local memory
    Expr row, column;      ///< those of the tile
    Symbol i, j;
    bool is_by_row;  ///< the loop over rows is the outer one

    Stmt over_rows(Stmt s) const {
      return loop_of(LoopKind::unrolled, i, kRowsOfThread, body_of(std::move(s)));
    }
    Stmt over_columns(Stmt s) const {
      return loop_of(LoopKind::unrolled, j, kColumnsOfThread, body_of(std::move(s)));
    }
    Stmt over_all(Stmt s) const { return over_rows(over_columns(std::move(s))); }
  };

  /// Returns the loops of the threads, whose body is made for their sums. Rows are the outer loop
  /// unless only columns decide which products count: a condition then stands outside of a loop.
  template <typename F>
  Stmt own_sums(const F& body) {
    const Symbol row = make_.variable("thread_row"), column = make_.variable("thread_column");
    const Symbol i = make_.variable("i"), j = make_.variable("j");
    const OwnSums own = {{row, column, i, j},
                         Expr(row) * kRowsOfThread + Expr(i),
                         Expr(column) * kColumnsOfThread + Expr(j),
                         i,
                         j,
                         !left_holds_.empty() || right_holds_.empty()};
    return loop_of(LoopKind::block_threads, row, kThreadRows,
                   body_of(loop_of(LoopKind::block_threads, column, kThreadColumns, body(own))));
  }

  template <typename F>
  Stmt all_sums(int rows, const F& body) {
    const Symbol row = make_.variable("row"), column = make_.variable("column");
    return loop_of(
        LoopKind::fragments, row, rows,
        body_of(loop_of(LoopKind::serial, column, form_.side(), body(Expr(row), Expr(column)))));
  }

  Body zero() {
    const DType dtype = form_.accumulator->dtype;
    const Value none = constant(neutral(ReduceOp::sum, dtype), dtype);
    if (has_fragments())
      return body_of(all_sums(form_.side(), [&](const Expr& r, const Expr& c) {
        return body_of(Stmt{Store{sums_, {r, c}, none}});
      }));
    return body_of(own_sums([&](const OwnSums& own) {
      return body_of(own.over_all({Store{sums_, own.at, none}}));
    }));
  }

  /// Returns the index of an operand's element in shared memory. `from` is the start of the slice.
  std::vector<Expr> staged_at(int which, const Expr& from, const Expr& location,
                              const Expr& slot) const {
    std::vector<Expr> index = {which, location, slot};
    if (!is_narrow_tile()) std::swap(index[1], index[2]);
    if (form_.is_pipelined) index.insert(index.begin(), from / slice() % kSlices);
    return index;
  }

  /// Returns the copy of an operand's slice. It holds 0 where a product does not count.
  Stmt stage(int which, const Axis& across, const Expr& from, const Value& value,
             const Conditions& where, const std::string& holds) {
    return threads_over(
        across, Expr(across.begin), form_.side(), depth_, from, slice(),
        [&](const Expr& location, const Expr& slot, const std::map<Symbol, Expr>& env) {
          Conditions counts = {is_below(Expr(across.begin) + location, across.count),
                               is_below(from + slot, depth_.count)};
          for (const Condition& c : where) counts.push_back({c.kind, c.e.substitute(env)});
          Body body;
          if (!holds.empty())
            body.push_back({Store{
                holds,
                {slot, location},
                guard_value(counts, constant(std::int64_t{1}, DType::boolean), std::int64_t{0})}});
          body.push_back({Store{
              staged_, staged_at(which, from, location, slot),
              guard_value(counts, substitute(value, env), neutral(ReduceOp::sum, value->dtype))}});
          return body;
        },
        form_.is_pipelined);
  }

  void stage_both(Body& to, const Expr& from) {
    to.push_back(stage(0, row_, from, form_.left, form_.left_where, left_holds_));
    to.push_back(stage(1, column_, from, form_.right, form_.right_where, right_holds_));
  }

  Stmt product(const std::vector<Expr>& at, const Expr& row, const Expr& column,
               const Expr& k) const {
    const DType dtype = form_.accumulator->dtype, of_operands = form_.left->dtype;
    const auto element = [&](int which, const Expr& location) {
      return load_value(staged_, staged_at(which, Expr(depth_.begin), location, k), of_operands);
    };
    return {StoreReduce{
        sums_, at, ScatterOp::add,
        op_value(MapOp::mul, {element(0, row), element(1, column)}, of_operands, dtype)}};
  }

  /// Returns the statement, under the condition that products of the location count.
  static Stmt if_counts(const std::string& holds, const Expr& k, const Expr& location, Stmt s) {
    if (holds.empty()) return s;
    const Condition counts{Condition::Kind::nonneg, load(holds, {k, location}) - 1};
    return {If{{counts}, body_of(std::move(s))}};
  }

  Stmt multiply() {
    const Symbol k = make_.variable("k");
    if (has_fragments())
      return all_sums(form_.side(), [&](const Expr& r, const Expr& c) {
        Stmt sum = if_counts(right_holds_, k, c, product({r, c}, r, c, k));
        return body_of(loop_of(LoopKind::serial, k, slice(),
                               body_of(if_counts(left_holds_, k, r, std::move(sum)))));
      });
    return own_sums([&](const OwnSums& own) {
      const DType dtype = form_.left->dtype;
      const auto copied = [&](int which, const std::string& to, const char* hint, int extent,
                              const Expr& first) {
        const Symbol v = make_.variable(hint);
        Stmt copy{Store{
            to,
            {own.at[0], own.at[1], v},
            load_value(staged_, staged_at(which, Expr(depth_.begin), first + Expr(v), k), dtype)}};
        return loop_of(LoopKind::unrolled, v, extent, body_of(std::move(copy)));
      };
      const auto operand = [&](const std::string& of, const Expr& at) {
        return load_value(of, {own.at[0], own.at[1], at}, dtype);
      };
      Stmt sum{
          StoreReduce{sums_, own.at, ScatterOp::add,
                      op_value(MapOp::mul, {operand(left_, own.at[2]), operand(right_, own.at[3])},
                               dtype, form_.accumulator->dtype)}};
      Stmt all = own.is_by_row
                     ? own.over_columns(if_counts(right_holds_, k, own.column, std::move(sum)))
                     : own.over_rows(if_counts(left_holds_, k, own.row, std::move(sum)));
      all = own.is_by_row
                ? own.over_rows(if_counts(left_holds_, k, own.row, std::move(all)))
                : own.over_columns(if_counts(right_holds_, k, own.column, std::move(all)));
      return body_of(
          loop_of(LoopKind::serial, k, kSlice,
                  body_of(copied(0, left_, "i", kRowsOfThread, own.at[0] * kRowsOfThread),
                          copied(1, right_, "j", kColumnsOfThread, own.at[1] * kColumnsOfThread),
                          std::move(all))));
    });
  }

  Stmt slices() {
    Body body;
    stage_both(body, Expr(depth_.begin));
    body.push_back({Barrier{}});
    body.push_back(multiply());
    body.push_back({Barrier{}});
    return loop_of(LoopKind::serial, depth_.begin, depth_.count, std::move(body), kSlice);
  }

  /// Adds the slices of a pipelined tile: each is multiplied while the next two are copied.
  void copy_ahead(Body& tile) {
    for (int k = 0; k + 1 < kSlices; ++k) stage_both(tile, k * slice());
    constexpr int kPending = 2 * (kSlices - 2);  // both operands of the slices behind this one
    Body body = body_of(Stmt{WaitForCopies{kPending}}, Stmt{Barrier{}});
    stage_both(body, Expr(depth_.begin) + (kSlices - 1) * slice());
    body.push_back(multiply());
    tile.push_back(loop_of(LoopKind::serial, depth_.begin, depth_.count, std::move(body), slice()));
    tile.push_back({WaitForCopies{0}});
    tile.push_back({Barrier{}});
  }

  /// Returns the copy of the sums of half of the rows to shared memory.
  Stmt give(const Expr& half) {
    constexpr int kThreads = kThreadRows / 2;
    const int rows = form_.side() / 2;
    const DType dtype = form_.accumulator->dtype;
    if (has_fragments())
      return all_sums(rows, [&](const Expr& r, const Expr& c) {
        return body_of(Stmt{Store{given_, {r, c}, load_value(sums_, {half * rows + r, c}, dtype)}});
      });
    return own_sums([&](const OwnSums& own) {
      const Expr& thread_row = own.at.front();
      const Conditions is_in_half = {
          {Condition::Kind::nonneg, thread_row - half * kThreads},
          {Condition::Kind::nonneg, half * kThreads + (kThreads - 1) - thread_row}};
      Stmt copy = own.over_all(
          {Store{given_, {own.row - half * rows, own.column}, load_value(sums_, own.at, dtype)}});
      return body_of(Stmt{If{is_in_half, body_of(std::move(copy))}});
    });
  }

  /// Returns what each element does with its sum.
  Body rest(const Value& sum, const std::map<Symbol, Expr>& env) {
    Body body = body_of(Stmt{Let{form_.accumulator->name, sum}});
    for (const Stmt& s : form_.innermost->body)
      if (&s != form_.sum) body.push_back(s);
    rewrite_values(body, [&](const Value& v) {
      const auto* read = std::get_if<value::Accumulated>(&v->kind);
      return read == nullptr || read->name != form_.accumulator->name
                 ? v
                 : named_value(read->name, v->dtype);
    });
    substitute(body, env);
    return body;
  }

  Stmt results() {
    const int rows = form_.side() / 2;
    const Symbol half = make_.variable("half");
    const Expr from = Expr(row_.begin) + Expr(half) * rows;
    Stmt copy = give(half);
    Stmt elements =
        threads_over(column_, Expr(column_.begin), form_.side(), row_, from, rows,
                     [&](const Expr& c, const Expr& r, const std::map<Symbol, Expr>& env) {
                       const Conditions exists = {is_below(from + r, row_.count),
                                                  is_below(Expr(column_.begin) + c, column_.count)};
                       const Value sum = load_value(given_, {r, c}, form_.accumulator->dtype);
                       return body_of(Stmt{If{exists, rest(sum, env)}});
                     });
    return loop_of(LoopKind::serial, half, 2,
                   body_of(std::move(copy), Stmt{Barrier{}}, std::move(elements), Stmt{Barrier{}}));
  }

  Stmt over_tiles(Body tile) {
    Stmt all = loop_of(LoopKind::grid, column_.begin, column_.count, std::move(tile), form_.side());
    all = loop_of(LoopKind::grid, row_.begin, row_.count, body_of(std::move(all)), form_.side());
    for (std::size_t k = form_.batch.size(); k-- > 0;) {
      const LoopDigit& d = form_.batch[k];
      all = {Loop{d.variable, d.begin, d.end, d.step, {}, body_of(std::move(all)), LoopKind::grid}};
    }
    return all;
  }

  const LoopProgram& p_;
  const TileForm& form_;
  Rewriting make_;
  const Facts facts_;
  Axis row_, column_, depth_;
  std::vector<TensorDecl> tensors_;  ///< memory of a tile
  std::string staged_, given_, sums_, left_holds_, right_holds_;
  std::string left_, right_;  ///< the elements of a thread in one iteration of the reduction
  std::set<Symbol> used_;
};

}  // namespace

LoopProgram tile_blocks(const LoopProgram& p, const TileForm& form) {
  return BlockTiling(p, form).run();
}

}  // namespace mote::cuda
