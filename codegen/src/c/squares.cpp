// SPDX-License-Identifier: Apache-2.0
// Writes the results of a tile that are adjacent along its rows, not along its vectors: they are
// computed in the tile's array, and copied from there by squares that are transposed in registers.
#include <fmt/format.h>

#include <algorithm>

#include "c/helpers.h"
#include "c/writer.h"
#include "ir/dependence.h"
#include "ir/transposed.h"
#include "mote/codegen/walk.h"

namespace mote::emit {

/// A loop over the rows of a tile, and the one in it over their lanes, which stores results.
struct Writer::ResultsInSquares {
  const Loop* lanes;
  const Store* store;
  const value::Load* sum;  ///< what the results are computed from
  std::int64_t height, width;
  std::size_t row_axis, lane_axis;  ///< of the output
};

namespace {

/// Returns the number of iterations of a loop over a tile unless it is the last one.
std::optional<std::int64_t> iterations_of_tile(const Loop& l) {
  for (const Expr& e : arms(l.end, Atom::Kind::min))
    if (const auto iterations = (e - l.begin).constant()) return iterations;
  return std::nullopt;
}

/// Returns the only element of a temporary that the value reads; null if there are several or none.
const value::Load* sum_in(const LoopProgram& p, const Value& v) {
  std::vector<const value::Load*> found;
  for_each_value(v, [&](const Value& part) {
    const auto* load = std::get_if<value::Load>(&part->kind);
    if (load != nullptr && find_tensor(p, load->tensor)->role == TensorRole::temporary)
      found.push_back(load);
  });
  return found.size() == 1 ? found.front() : nullptr;
}

std::size_t count_reads(const Body& body, const std::string& tensor) {
  const auto all = accesses(body);
  return static_cast<std::size_t>(
      std::ranges::count_if(all, [&](const Access& a) { return !a.write && a.tensor == tensor; }));
}

}  // namespace

std::optional<Writer::ResultsInSquares> Writer::results_in_squares(const Loop& rows) const {
  const Loop* lanes = rows.body.size() != 1 ? nullptr : as_loop(rows.body.front());
  if (apart_ == &rows || rows.kind != LoopKind::serial || !rows.accumulators.empty() ||
      lanes == nullptr || lanes->kind != LoopKind::simd || lanes->body.size() != 1 ||
      !lanes->adjacent_under_ones.empty() || !has_ordered_panel(p_))
    return std::nullopt;
  const auto* store = std::get_if<Store>(&lanes->body.front().kind);
  if (store == nullptr || find_tensor(p_, store->tensor)->role != TensorRole::output)
    return std::nullopt;
  const value::Load* sum = sum_in(p_, store->value);
  const auto height = iterations_of_tile(rows);
  const auto width = iterations_of_tile(*lanes);
  const auto row_axis = axis_along(store->index, rows.variable);
  const auto lane_axis = axis_along(store->index, lanes->variable);
  if (sum == nullptr || !height || !width || !row_axis || !lane_axis || row_axis == lane_axis)
    return std::nullopt;
  const TensorDecl& sums = *find_tensor(p_, sum->tensor);
  const bool is_tile = sums.memory == TensorMemory::automatic && sum->index.size() == 2 &&
                       sums.shape.front() == Expr(*height) && sums.shape.back() == Expr(*width) &&
                       axis_along(sum->index, rows.variable) == 0U;
  const bool is_of_squares =
      !squares_of_tile(*height, *width).empty() &&
      (store->value->dtype == DType::f32 || store->value->dtype == DType::f64);
  const bool is_read_here_alone =
      count_reads(rows.body, sums.name) == count_reads(p_.body, sums.name);
  if (!is_tile || !is_of_squares || !is_read_here_alone || sums.dtype != store->value->dtype)
    return std::nullopt;
  return ResultsInSquares{lanes, store, sum, *height, *width, *row_axis, *lane_axis};
}

/// Computes the results of a whole tile in the place of its sums.
void Writer::results_in_place(const Loop& rows, const ResultsInSquares& results,
                              const std::vector<KnownStride>& adjacent, const Facts& of_whole) {
  const Loop& lanes = *results.lanes;
  const Symbol row(SymbolKind::loop, names_.fresh("row"));
  const Symbol lane(SymbolKind::loop, names_.fresh("lane"));
  for (const Symbol s : {row, lane}) names_.add_local(s.name());
  const std::map<Symbol, Expr> here = {{rows.variable, rows.begin + Expr(row)},
                                       {lanes.variable, lanes.begin + Expr(lane)}};
  Body body;
  body.push_back({Store{
      results.sum->tensor, {Expr(row), Expr(lane)}, substitute(results.store->value, here)}});
  rewrite_exprs(body, [&](const Expr& e) { return of_whole.simplify(e); });
  Loop inner{lane, 0, results.width, 1, {}, std::move(body), LoopKind::simd};
  printer_.assume(adjacent);
  loop_of_its_own({row, 0, results.height, 1, {}, {{std::move(inner)}}}, of_whole);
  printer_.assume({});
}

/// Copies the results of a whole tile from its array.
void Writer::copy_by_squares(const Loop& rows, const ResultsInSquares& results,
                             const Facts& of_whole) {
  const TensorDecl& sums = *find_tensor(p_, results.sum->tensor);
  const TensorDecl& y = *find_tensor(p_, results.store->tensor);
  const Symbol square(SymbolKind::loop, names_.fresh("square"));
  names_.add_local(square.name());
  std::int64_t row = 0;
  for (const std::int64_t size : squares_of_tile(results.height, results.width)) {
    const Expr lane = Expr(square) * size;
    std::vector<Expr> first;
    for (const Expr& e : results.store->index)
      first.push_back(of_whole.simplify(
          e.substitute({{rows.variable, rows.begin + Expr(row)},
                        {results.lanes->variable, results.lanes->begin + lane}})));
    const std::string function = transpose_function(size, 8 * native_bytes(sums.dtype));
    printer_.uses().call(function);
    line(fmt::format("for (int64_t {0} = 0; {0} < {1}; {0}++) {{", square.name(),
                     results.width / size));
    ++indent_;
    printer_.assume({{y.name, static_cast<int>(results.row_axis), 1}});
    line(fmt::format("{}(&{}, {}, &{}, {});", function,
                     printer_.element(sums, {row, lane}, of_whole), results.width,
                     printer_.element(y, first, of_whole),
                     printer_.named_stride(y.name, results.lane_axis)));
    printer_.assume({});
    --indent_;
    line("}");
    row += size;
  }
}

/// Writes the loops in a form for tiles that are whole and whose results are adjacent along the
/// rows, and in one for all others; returns false if they have no such form.
bool Writer::results_in_squares_or_apart(const Loop& rows, const Facts& facts) {
  const auto found = results_in_squares(rows);
  if (!found) return false;
  const Loop& lanes = *found->lanes;
  Facts of_whole = facts;
  for (const Loop* l : {&rows, &lanes})
    for (const Expr& e : arms(l->end, Atom::Kind::min))
      of_whole.assume_nonneg(e - l->begin - (l == &rows ? found->height : found->width));
  const std::map<Symbol, Expr> first = {{rows.variable, rows.begin}, {lanes.variable, lanes.begin}};
  for (const Expr& e : found->sum->index)
    if (of_whole.simplify(e.substitute(first)) != Expr(0)) return false;
  // The other tensors that the results are computed from must be adjacent along the lanes.
  std::vector<KnownStride> others = lanes.adjacent_under;
  std::erase_if(others, [&](const KnownStride& k) { return k.tensor == found->store->tensor; });
  std::string test =
      fmt::format("{} == 1 && {} == {} && {} == {}",
                  printer_.named_stride(found->store->tensor, found->row_axis),
                  limit(rows.end, names_.symbol(rows.variable) + "_end", facts).text,
                  printer_.expr(rows.begin + found->height, facts).text,
                  limit(lanes.end, names_.symbol(lanes.variable) + "_end", facts).text,
                  printer_.expr(lanes.begin + found->width, facts).text);
  for (const KnownStride& k : others)
    test +=
        fmt::format(" && {} == {}",
                    printer_.named_stride(k.tensor, static_cast<std::size_t>(k.axis)), k.stride);
  const auto in_squares = [&] {
    if (!std::holds_alternative<value::Load>(found->store->value->kind))
      results_in_place(rows, *found, others, of_whole);
    copy_by_squares(rows, *found, of_whole);
  };
  in_two_forms(test, in_squares, [&] { loop_apart(rows, facts); });
  return true;
}

}  // namespace mote::emit
