// SPDX-License-Identifier: Apache-2.0
// Finds the loops over columns, those along the last axis of an output, that go inside the
// reductions over rows that they hold, and the rows that are read for their own results and for
// these reductions.
#include <algorithm>
#include <set>
#include <utility>

#include "ir/dependence.h"
#include "mote/codegen/walk.h"
#include "schedule/innermost.h"
#include "schedule/iterations.h"
#include "schedule/take.h"
#include "schedule/versions.h"

namespace mote {
namespace {

/// The elements of a tile whose rows are read once: longer parts of a row are read faster.
constexpr std::int64_t kLongTile = 1024;

/// The rows of a block, which are added to sums together: of 1024 floats the first-level cache
/// holds four of two inputs, and of an output.
constexpr std::int64_t kRowsInBlock = 4;
/// The rows of a part, whose partial sums a thread adds up. Shorter parts have more sums, which are
/// stored and read again.
constexpr std::int64_t kRowsInPart = 128;

bool runs_over_last_axis(const LoopProgram& p, const Loop& loop) {
  bool found = false;
  for_each(loop.body, [&](const Stmt& s) {
    const auto* store = std::get_if<Store>(&s.kind);
    if (store == nullptr || store->index.empty()) return;
    found = found || (find_tensor(p, store->tensor)->role == TensorRole::output &&
                      store->index.back() == Expr(loop.variable));
  });
  return found;
}

std::ptrdiff_t passes_over_rows(const Body& body) {
  return std::ranges::count_if(body, [](const Stmt& s) { return nested_body(s) != nullptr; });
}

/// Returns the inputs that have an axis along which the loop runs, and others.
std::set<std::string> inputs_along(const LoopProgram& p, const Loop& loop) {
  std::set<std::string> inputs;
  for (const Access& a : accesses(loop.body)) {
    const bool is_along = std::ranges::find(a.index, Expr(loop.variable)) != a.index.end();
    if (a.index.size() > 1 && is_along && find_tensor(p, a.tensor)->role == TensorRole::input)
      inputs.insert(a.tensor);
  }
  return inputs;
}

/// Returns true if the statements behind the first, a loop, read inputs that it reads too.
bool read_again(const LoopProgram& p, const Body& of_block) {
  const Loop* first = as_loop(of_block.front());
  if (first == nullptr || of_block.size() < 2) return false;
  const std::set<std::string> inputs = inputs_along(p, *first);
  return std::ranges::any_of(accesses(Body(of_block.begin() + 1, of_block.end())),
                             [&](const Access& a) { return inputs.contains(a.tensor); });
}

/// Runs a loop over rows and the sums over these rows behind it, which read the same inputs, in
/// blocks of rows: the second read finds them in the cache. Returns false if there are none.
bool add_up_rows_in_blocks(Version& v, const ScheduleOptions& options) {
  for (const std::string& row : names_of_loops(v.program, outermost_loops(v.program))) {
    Version blocks = v;
    if (take(blocks, {StepKind::blocks, {{row, kRowsInBlock}}}, options)) continue;
    Path path = *find_loop(blocks.program, row);
    path.pop_back();
    const Loop& block = *as_loop(at(std::as_const(blocks.program), path));
    if (!read_again(blocks.program, block.body) ||
        take(blocks, {StepKind::partial, {{block.variable.name(), kRowsInPart}}}, options))
      continue;
    v = std::move(blocks);
    return true;
  }
  return false;
}

/// Moves a loop over columns inside the reductions over rows that it holds; returns false if there
/// is none.
bool move_inward(Version& v, const ScheduleOptions& options) {
  for (const Path& path : loops_of(v.program)) {
    const Loop& loop = *as_loop(at(v.program, path));
    const bool only_nests = loop.body.size() == 1 && as_loop(loop.body[0]) != nullptr &&
                            as_loop(loop.body[0])->accumulators.empty();
    if (!holds_loop(loop.body) || only_nests || !runs_over_last_axis(v.program, loop)) continue;
    const std::int64_t tile = passes_over_rows(loop.body) > 1 ? kTile : kLongTile;
    if (!take(v, {StepKind::inward, {{loop.variable.name(), tile}}}, options)) return true;
  }
  return false;
}

bool runs_in_vectors(const Body& body) {
  bool found = false;
  for_each(body, [&](const Stmt& s) {
    const Loop* l = as_loop(s);
    found = found || (l != nullptr && l->kind == LoopKind::simd);
  });
  return found;
}

/// Returns true if all loops of the nest that add to elements run in vectors for every call.
bool adds_up_adjacent(const Stmt& nest) {
  const Body body = {nest};
  bool all = true;
  for_each(body, [&](const Stmt& s) {
    const Loop* l = as_loop(s);
    if (l == nullptr) return;
    const bool adds = std::ranges::any_of(
        l->body, [](const Stmt& inner) { return std::holds_alternative<StoreReduce>(inner.kind); });
    all = all && (!adds || (l->kind == LoopKind::simd && l->adjacent_under.empty() &&
                            l->adjacent_under_ones.empty()));
  });
  return all;
}

/// Returns the loops of the nest over the last axis of an output that hold one sum. Of several sums
/// each would be read and stored for every term: a gradient of lstm_cell gained nothing.
std::vector<std::string> columns_around_sum(const LoopProgram& p, const Body& nest) {
  std::vector<std::string> names;
  for_each(nest, [&](const Stmt& s) {
    const Loop* l = as_loop(s);
    if (l == nullptr || !runs_over_last_axis(p, *l)) return;
    std::size_t sums = 0;
    for (const Stmt& inner : l->body)
      if (as_loop(inner) != nullptr) sums += as_loop(inner)->accumulators.size();
    if (sums == 1) names.push_back(l->variable.name());
  });
  return names;
}

void finish(Version& v, std::int64_t jammed, const ScheduleOptions& options) {
  mark_simd(v, StepKind::simd, options);
  share_outermost(v, options);
  if (jammed > 0) (void)take(v, {StepKind::jam, {{"", jammed}}}, options);
}

bool rely_on_the_same(const LoopProgram& p, const LoopProgram& q) {
  return p.strides.size() == q.strides.size() && std::ranges::is_permutation(p.strides, q.strides);
}

}  // namespace

void add_up_other_columns(Version& v, const ScheduleOptions& options) {
  if (v.program.strides.empty()) return;
  for (std::size_t nest = 0; nest < v.program.body.size(); ++nest) {
    const Body body = {v.program.body[nest]};
    if (runs_in_vectors(body)) continue;
    for (const std::string& columns : columns_around_sum(v.program, body)) {
      Version inward = v;
      if (take(inward, {StepKind::inward, {{columns, kLongTile}}}, options)) continue;
      const Body moved = {inward.program.body[nest]};
      for_each(moved, [&](const Stmt& s) {
        if (const Loop* l = as_loop(s))
          (void)take(inward, {StepKind::simd_if_adjacent, {{l->variable.name()}}}, options);
      });
      if (!adds_up_adjacent(inward.program.body[nest])) continue;
      v = std::move(inward);
      break;
    }
  }
}

bool add_up_columns_in_vectors(const LoopProgram& p) {
  bool in_vectors = true;
  for_each(p.body, [&](const Stmt& s) {
    const Loop* loop = as_loop(s);
    if (loop == nullptr || loop->kind == LoopKind::simd) return;
    for (const Stmt& inner : loop->body) {
      const auto* sum = std::get_if<StoreReduce>(&inner.kind);
      if (sum == nullptr) continue;
      const bool is_scatter =
          std::ranges::any_of(sum->index, [](const Expr& e) { return e.has_load(); });
      in_vectors =
          in_vectors && (is_scatter || find_tensor(p, sum->tensor)->role != TensorRole::temporary);
    }
  });
  return in_vectors;
}

Version with_columns_inward(const Version& start, const ScheduleOptions& options, bool is_tiled) {
  Version columns = start;
  if (move_inward(columns, options)) finish(columns, is_tiled ? 0 : options.rows, options);
  Version blocks = start;
  blocks.name = "rows_in_blocks";
  if (is_tiled || columns.program.strides.empty() || !add_up_rows_in_blocks(blocks, options))
    return columns;
  finish(blocks, kRowsInBlock, options);
  return rely_on_the_same(blocks.program, columns.program) &&
                 add_up_columns_in_vectors(blocks.program)
             ? blocks
             : columns;
}

}  // namespace mote
