// SPDX-License-Identifier: Apache-2.0
#include "ir/transposed.h"

#include <algorithm>

#include "ir/dependence.h"

namespace mote {

std::optional<std::size_t> axis_along(const std::vector<Expr>& index, Symbol variable) {
  const auto mentions = [&](const Expr& e) { return e.mentions(variable); };
  const auto found = std::ranges::find_if(index, mentions);
  if (found == index.end() || std::ranges::count_if(index, mentions) != 1) return std::nullopt;
  const auto linear = linear_in(*found, variable);
  if (!linear || linear->factor != Expr(1)) return std::nullopt;
  return static_cast<std::size_t>(found - index.begin());
}

std::vector<std::int64_t> squares_of_tile(std::int64_t rows, std::int64_t lanes) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = kMaxTransposedLanes; size >= 2; size /= 2)
    for (; rows >= size; rows -= size) sizes.push_back(size);
  if (rows != 0 || (!sizes.empty() && lanes % sizes.front() != 0)) return {};
  return sizes;
}

bool has_ordered_panel(const LoopProgram& p) {
  return std::ranges::any_of(p.tensors,
                             [](const TensorDecl& t) { return t.ordered_like.has_value(); });
}

bool is_copy(const LoopProgram& p, const Store& store) {
  const auto* load = std::get_if<value::Load>(&store.value->kind);
  if (load == nullptr) return false;
  const TensorDecl& x = *find_tensor(p, load->tensor);
  const TensorDecl& y = *find_tensor(p, store.tensor);
  return x.role == TensorRole::input && y.role == TensorRole::output && x.dtype == y.dtype;
}

std::optional<TransposedSquare> transposed_square(const LoopProgram& p, const Loop& rows) {
  const Loop* lanes = rows.body.size() == 1 ? as_loop(rows.body[0]) : nullptr;
  if (lanes == nullptr || lanes->kind != LoopKind::simd || lanes->body.size() != 1)
    return std::nullopt;
  const auto* store = std::get_if<Store>(&lanes->body[0].kind);
  if (store == nullptr || !is_copy(p, *store)) return std::nullopt;
  const auto& load = std::get<value::Load>(store->value->kind);
  const auto size = (rows.end - rows.begin).constant();
  const auto row_axis = axis_along(store->index, rows.variable);
  const auto lane_axis = axis_along(load.index, lanes->variable);
  const bool is_square = size && *size >= 2 && *size <= kMaxTransposedLanes &&
                         (lanes->end - lanes->begin).constant() == size && rows.step == Expr(1) &&
                         lanes->step == Expr(1);
  if (!is_square || !row_axis || !lane_axis ||
      axis_along(store->index, lanes->variable) != store->index.size() - 1 ||
      axis_along(load.index, rows.variable) != load.index.size() - 1)
    return std::nullopt;
  return TransposedSquare{&rows, lanes, store, &load, *row_axis, *lane_axis, *size};
}

}  // namespace mote
