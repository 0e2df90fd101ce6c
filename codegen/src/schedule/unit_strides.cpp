// SPDX-License-Identifier: Apache-2.0
// Finds the accesses that change with a loop variable, by the index expression of each axis.
#include "schedule/unit_strides.h"

#include <algorithm>

#include "ir/references.h"

namespace mote {
namespace {

/// Returns the only axis whose index changes with v; nullopt if there is none or several.
std::optional<int> moving_axis(const TensorReference& r, Symbol v) {
  std::optional<int> axis;
  for (std::size_t k = 0; k < r.index.size(); ++k) {
    if (!r.index[k].mentions(v)) continue;
    if (axis) return std::nullopt;
    axis = static_cast<int>(k);
  }
  return axis;
}

bool moves(const TensorReference& r, Symbol v) {
  return std::ranges::any_of(r.index, [v](const Expr& e) { return e.mentions(v); });
}

bool is_panel_of_pairs(const TensorDecl* t) { return t != nullptr && t->integer_bits == 16; }

}  // namespace

std::optional<Adjacency> adjacency(const LoopProgram& p, const Stmt& s, std::int64_t widest) {
  const Symbol v = std::get<Loop>(s.kind).variable;
  std::vector<TensorReference> all = references(p.body);
  std::erase_if(all, [&](const TensorReference& r) {
    return std::ranges::find(r.path, &s) == r.path.end() || !moves(r, v);
  });
  const bool fills_pairs = std::ranges::any_of(all, [&](const TensorReference& r) {
    return r.is_write() && is_panel_of_pairs(find_tensor(p, r.tensor));
  });
  if (fills_pairs) widest = std::max<std::int64_t>(widest, 2);
  Adjacency needed;
  for (const TensorReference& r : all) {
    const TensorDecl* t = find_tensor(p, r.tensor);
    const auto axis = moving_axis(r, v);
    if (t == nullptr || !axis) return std::nullopt;
    const auto linear = linear_in(r.index[static_cast<std::size_t>(*axis)], v);
    if (!linear) return std::nullopt;
    const std::int64_t step = linear->factor.constant().value_or(0);
    if (step < 1 || step > (r.is_write() ? 1 : widest)) {
      const auto factor = linear->factor.as_symbol();
      if (!factor || factor->kind() != SymbolKind::param) return std::nullopt;
      if (std::ranges::find(needed.ones, *factor) == needed.ones.end())
        needed.ones.push_back(*factor);
    }
    if (t->role == TensorRole::temporary) {
      const int behind = is_panel_of_pairs(t) ? 2 : 1;
      if (*axis + behind != static_cast<int>(t->shape.size())) return std::nullopt;
      continue;
    }
    const KnownStride stride{r.tensor, *axis, 1};
    if (std::ranges::find(needed.strides, stride) != needed.strides.end()) continue;
    if (!are_compatible(needed.strides, {stride})) return std::nullopt;
    needed.strides.push_back(stride);
  }
  return needed;
}

std::optional<std::vector<KnownStride>> unit_strides(const LoopProgram& p, const Stmt& s) {
  auto needed = adjacency(p, s, 1);
  if (!needed || !needed->ones.empty()) return std::nullopt;
  return std::move(needed->strides);
}

std::vector<KnownStride> strides_along(const LoopProgram& p, Symbol v) {
  std::vector<KnownStride> found;
  for (const TensorReference& r : references(p.body)) {
    const auto axis = moving_axis(r, v);
    if (!axis || find_tensor(p, r.tensor)->role == TensorRole::temporary) continue;
    const KnownStride stride{r.tensor, *axis, 1};
    const bool is_new = std::ranges::find(found, stride) == found.end();
    if (is_new && are_compatible(found, {stride})) found.push_back(stride);
  }
  return found;
}

bool are_compatible(const std::vector<KnownStride>& a, const std::vector<KnownStride>& b) {
  for (const KnownStride& x : a)
    for (const KnownStride& y : b)
      if (x.tensor == y.tensor && x.axis != y.axis) return false;
  return true;
}

std::vector<KnownStride> repeatable(const LoopProgram& p, const std::vector<KnownStride>& strides) {
  std::vector<KnownStride> found;
  for (const Uop& u : p.source->inputs) {
    const auto& input = std::get<uop::Input>(u.node().kind);
    for (const KnownStride& k : strides)
      if (k.tensor == input.name && input.broadcast[static_cast<std::size_t>(k.axis)])
        found.push_back({k.tensor, k.axis, 0});
  }
  return found;
}

}  // namespace mote
