// SPDX-License-Identifier: Apache-2.0
// In: a tile's form; out: the same with pipelined tiles, and its requirements on the operands.
#include "pipelined_tiles.h"

#include <algorithm>

namespace mote::cuda {
namespace {

/// Returns true for one loop from 0 in steps of 1.
bool is_plain(const std::vector<LoopDigit>& axes) {
  return axes.size() == 1 && axes[0].begin == Expr(0) && axes[0].step == Expr(1);
}

/// Returns true for an element of an f32 tensor of the call.
bool is_f32(const LoopProgram& p, const Value& v) {
  const auto* load = std::get_if<value::Load>(&v->kind);
  const TensorDecl* t = load == nullptr ? nullptr : find_tensor(p, load->tensor);
  return t != nullptr && t->role != TensorRole::temporary && t->dtype == DType::f32;
}

bool mentions_any(const Expr& e, const std::vector<LoopDigit>& axes) {
  return std::ranges::any_of(axes, [&](const LoopDigit& a) { return e.mentions(a.variable); });
}

}  // namespace

std::optional<PipelinedOperand> pipelined_operand(const Value& operand, const LoopDigit& across,
                                                  const LoopDigit& along) {
  PipelinedOperand out{std::get_if<value::Load>(&operand->kind), -1, -1};
  if (out.load == nullptr) return std::nullopt;
  for (std::size_t k = 0; k < out.load->index.size(); ++k) {
    const Expr& e = out.load->index[k];
    for (const auto& [axis, found] : {std::pair{&across, &out.across}, {&along, &out.along}}) {
      if (!e.mentions(axis->variable)) continue;
      if (e != Expr(axis->variable) || *found >= 0) return std::nullopt;
      *found = static_cast<int>(k);
    }
  }
  return out.across >= 0 && out.along >= 0 ? std::optional(out) : std::nullopt;
}

std::string why_not_pipelined(const LoopProgram& p, const TileForm& form) {
  const bool is_narrow = form.fragments && form.fragments != DType::f32;
  const bool is_float = !form.fragments && is_f32(p, form.left) && is_f32(p, form.right);
  if (!is_narrow && !is_float)
    return "slices are copied ahead of elements of 16 bits in memory, or of f32 not rounded to "
           "tf32";
  if (!form.left_where.empty() || !form.right_where.empty())
    return "some products do not count, and slices that are copied ahead have no conditions";
  if (!is_plain(form.rows) || !is_plain(form.columns) || !is_plain(form.reduced))
    return "rows, columns and the sum are not one loop each, from 0 on by 1";
  if (mentions_any(form.reduced[0].end, form.batch)) return "the end of the sum changes";
  if (!pipelined_operand(form.left, form.rows[0], form.reduced[0]) ||
      !pipelined_operand(form.right, form.columns[0], form.reduced[0]))
    return "an operand does not go along an axis of its own for rows, columns and the sum";
  return "";
}

TileForm pipelined_form(const TileForm& form) {
  TileForm pipelined = form;
  pipelined.is_pipelined = true;
  return pipelined;
}

std::vector<VectorOperand> vector_operands(const TileForm& form) {
  constexpr int kElements = 8;
  std::vector<VectorOperand> all;
  if (!form.fragments) return all;
  for (const auto& [operand, across] :
       {std::pair{&form.left, form.rows.data()}, {&form.right, form.columns.data()}}) {
    const auto found = pipelined_operand(*operand, *across, form.reduced[0]);
    all.push_back({found->load->tensor, {found->across, found->along}, kElements});
  }
  return all;
}

}  // namespace mote::cuda
