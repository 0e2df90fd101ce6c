// SPDX-License-Identifier: Apache-2.0
// Writes the loops that fill a panel with an input's elements, which lie next to each other along
// the terms, not along the lanes of a tile: by squares that are transposed in registers.
#include <fmt/format.h>

#include <optional>

#include "c/helpers.h"
#include "c/writer.h"
#include "ir/dependence.h"
#include "ir/transposed.h"
#include "mote/base/error.h"

namespace mote::emit {
namespace {

/// The copy `panel[…, term, lane] = x[…, lane, …, term]` of the lanes of all terms.
struct Columns {
  const Loop* lanes;
  const Store* store;
  const value::Load* load;
  std::size_t term_axis, lane_axis;  ///< of the input
  std::int64_t width;
};

std::optional<Columns> columns_of(const LoopProgram& p, const Loop& terms) {
  const Loop* lanes = terms.body.size() != 1 ? nullptr : as_loop(terms.body.front());
  if (lanes == nullptr || lanes->kind != LoopKind::simd || lanes->body.size() != 1 ||
      terms.step != Expr(1) || lanes->step != Expr(1) || lanes->begin != Expr(0) ||
      !terms.accumulators.empty())
    return std::nullopt;
  const auto* store = std::get_if<Store>(&lanes->body.front().kind);
  const auto* load = store == nullptr ? nullptr : std::get_if<value::Load>(&store->value->kind);
  const auto width = lanes->end.constant();
  if (load == nullptr || !width) return std::nullopt;
  const TensorDecl& panel = *find_tensor(p, store->tensor);
  const TensorDecl& x = *find_tensor(p, load->tensor);
  const bool holds_panel = panel.role == TensorRole::temporary && !panel.ordered_like &&
                           panel.memory == TensorMemory::automatic && panel.shape.size() >= 2 &&
                           panel.shape.back() == lanes->end;
  const bool is_copy_of_real = x.role == TensorRole::input && x.dtype == panel.dtype &&
                               (x.dtype == DType::f32 || x.dtype == DType::f64);
  if (!holds_panel || !is_copy_of_real || *width % size_of_square(x.dtype) != 0)
    return std::nullopt;
  const std::size_t last = store->index.size() - 1;
  const auto term_axis = axis_along(load->index, terms.variable);
  const auto lane_axis = axis_along(load->index, lanes->variable);
  if (axis_along(store->index, terms.variable) != last - 1 ||
      store->index.back() != Expr(lanes->variable) || !term_axis || !lane_axis ||
      term_axis == lane_axis)
    return std::nullopt;
  return Columns{lanes, store, load, *term_axis, *lane_axis, *width};
}

/// Returns the innermost of the loops that threads share, from the first on, or the loop itself.
template <typename AnyLoop>
AnyLoop& innermost_shared(AnyLoop& first) {
  AnyLoop* l = &first;
  while (l->kind == LoopKind::threads && l->body.size() == 1) {
    auto* inner = std::get_if<Loop>(&l->body.front().kind);
    if (inner == nullptr || inner->kind != LoopKind::threads) break;
    l = inner;
  }
  return *l;
}

}  // namespace

/// Writes the columns of all terms by a call.
void Writer::transposed_columns(const Loop& terms, const Facts& facts) {
  const auto found = columns_of(p_, terms);
  if (!found) throw InternalError("emit_c: a transposed loop copies no square and no columns");
  const Columns& columns = *found;
  const std::map<Symbol, Expr> first = {{terms.variable, terms.begin},
                                        {columns.lanes->variable, 0}};
  const TensorDecl& x = *find_tensor(p_, columns.load->tensor);
  const std::string function = columns_function(x.dtype);
  printer_.uses().call(function);
  line(fmt::format("{}(&{}, {}, {}, &{}, {});", function,
                   element_where(x.name, columns.load->index, first, facts),
                   printer_.named_stride(x.name, columns.lane_axis),
                   printer_.expr(terms.end - terms.begin, facts).text,
                   element_where(columns.store->tensor, columns.store->index, first, facts),
                   columns.width));
}

/// Writes the loops in a form for inputs whose elements are adjacent along the terms, and in one
/// for all others; returns false if they fill no panel with an input's elements.
bool Writer::columns_transposed_or_apart(const Loop& first, const Facts& facts) {
  if (apart_ == &first || !p_.native || printer_.target() != Target::c) return false;
  const Loop& terms = innermost_shared(first);
  const bool runs_alone = &terms == &first && first.kind == LoopKind::threads;
  if (runs_alone || (terms.kind != LoopKind::threads && terms.kind != LoopKind::serial))
    return false;
  const auto columns = columns_of(p_, terms);
  if (!columns) return false;
  const std::string& x = columns->load->tensor;
  const std::string test =
      fmt::format("{} == 1 && {} != 1", printer_.named_stride(x, columns->term_axis),
                  printer_.named_stride(x, columns->lane_axis));
  const auto transposed = [&] {
    Loop loops = first;
    innermost_shared(loops).kind = LoopKind::transposed;
    printer_.assume({{x, static_cast<int>(columns->term_axis), 1}});
    loop_of_its_own(loops, facts);
    printer_.assume({});
  };
  in_two_forms(test, transposed, [&] { loop_apart(first, facts); });
  return true;
}

}  // namespace mote::emit
