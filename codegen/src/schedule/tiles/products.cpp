// SPDX-License-Identifier: Apache-2.0
#include "schedule/tiles/products.h"

#include <algorithm>
#include <map>

#include "ir/dependence.h"
#include "mote/codegen/walk.h"
#include "schedule/tile.h"
#include "schedule/tiles/row_ranges.h"

namespace mote {
namespace {

/// Returns true if the tile of rows has the same terms apart from a part at each end, and the same
/// vectors.
bool have_segments(const RowLoop& rows, const TiledReduction& r, Symbol vector,
                   const Conditions& of_vector) {
  const Span span{rows.loop.variable, rows.start, Expr(rows.start) + (rows.height - 1)};
  for (const Condition& c : of_vector) {
    const auto most = greatest_in(c.e, span);
    if (!most || !greatest_in(*most, {vector, 0, 1})) return false;
  }
  const Conditions& conditions = r.shared.row_conditions;
  if (conditions.empty()) return true;
  const auto moves = [&](const LoopRange& l) {
    return std::ranges::any_of(conditions,
                               [&](const Condition& c) { return c.e.mentions(l.variable); });
  };
  const auto moving = std::ranges::find_if(r.nest.loops, moves);
  return moving != r.nest.loops.end() && std::none_of(moving + 1, r.nest.loops.end(), moves) &&
         row_ranges(*moving, conditions, span).has_value();
}

}  // namespace

SharedLoops chain_of(const RowLoop& rows, const std::vector<Loop>& loops) {
  SharedLoops chain{rows.around, {}};
  chain.loops.push_back(&rows.loop);
  for (const Loop& l : loops) chain.loops.push_back(&l);
  return chain;
}

std::vector<Product> ProductFinder::take(Stmt& s) {
  found_.clear();
  written_ = tensors_written({&s, 1});
  visit(s);
  return std::move(found_);
}

void ProductFinder::visit(Stmt& s) {
  Loop* loop = as_loop(s);
  if (loop == nullptr || !of_vector_.empty()) return;
  const auto range = range_of(*loop, of_vector_, blocks_of(rows_.around));
  if (range) {
    loops_.push_back({range->variable, range->begin, range->end, 1, {}, {}});
    for (std::size_t k = 0; k < loop->body.size(); ++k) {
      const Loop* inner = as_loop(loop->body[k]);
      if (inner == nullptr) continue;
      if (auto found = product(*inner))
        take_out(*std::move(found), loop->body[k--], loop->body);
      else
        visit(loop->body[k]);
    }
    loops_.pop_back();
  }
  of_vector_.clear();
}

std::optional<Product> ProductFinder::product(const Loop& reduction) const {
  const auto touches = [&](const Access& a) { return written_.contains(a.tensor); };
  const auto is_real_sum = [](const Accumulator& a) { return is_real(a.dtype); };
  if (!std::ranges::all_of(reduction.accumulators, is_real_sum) ||
      std::ranges::any_of(accesses(Stmt{reduction}), touches))
    return std::nullopt;
  const SharedLoops chain = chain_of(rows_, loops_);
  auto nest = reduction_nest(reduction, facts_in(p_, chain), blocks_of(rows_.around));
  if (!nest || nest->folds.size() != reduction.accumulators.size()) return std::nullopt;
  const Symbol vector = loops_.back().variable;
  auto shared = shared_operands(*nest, vector, rows_.loop.variable, names_);
  if (!shared || !shared->vector_conditions.empty()) return std::nullopt;
  TiledReduction r{*std::move(nest), *std::move(shared)};
  // The columns of a tile are those of any of its rows: a row copies elements that only others
  // count.
  const bool reads_elements = of_vector_.empty() ? reads_only_counted_elements(p_, chain, r)
                                                 : reads_only_elements(p_, chain, r);
  if (!have_segments(rows_, r, vector, of_vector_) || !reads_elements) return std::nullopt;
  return Product{loops_, of_vector_, reduction.variable, std::move(r)};
}

/// Moves the reduction, statement s of the body, to the product.
void ProductFinder::take_out(Product product, Stmt& s, Body& body) {
  const std::vector<Accumulator> all = as_loop(s)->accumulators;
  std::vector<Expr> shape = {rows_.height};
  std::vector<Expr> index = {Expr(rows_.loop.variable) - Expr(rows_.start)};
  for (const Loop& l : product.loops) {
    shape.push_back(l.end - l.begin);
    index.push_back(Expr(l.variable) - l.begin);
  }
  Body& taken = product.loops.back().body;
  taken.push_back(std::move(s));
  body.erase(body.begin() + (&s - body.data()));
  std::map<std::string, std::string> arrays;
  for (const Accumulator& a : all) {
    const std::string sums = Tiler::fresh_variable(p_, a.name + "s", used_).name();
    p_.tensors.push_back({sums, TensorRole::temporary, a.dtype, shape,
                          std::vector<std::string>(shape.size()), rows_.start});
    arrays.emplace(a.name, sums);
    taken.push_back({Store{sums, index, accumulated_value(a.name, a.dtype)}});
  }
  rewrite_values(body, [&](const Value& v) {
    const auto* read = std::get_if<value::Accumulated>(&v->kind);
    const auto array = read == nullptr ? arrays.end() : arrays.find(read->name);
    return array == arrays.end() ? v : load_value(array->second, index, v->dtype);
  });
  found_.push_back(std::move(product));
}

}  // namespace mote
