// SPDX-License-Identifier: Apache-2.0
// Steps over the elements that a case sets: fewer of them, at lower indices, with simpler values.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "mote/base/error.h"
#include "mote/oracle/exactness.h"
#include "run/prepared_state.h"
#include "shrink/steps.h"

namespace mote {
namespace {

bool are_at_one_location(const SetElement& a, const SetElement& b) {
  return a.tensor == b.tensor && a.index == b.index;
}

/// Leaves out halves first, then smaller parts, and finally single elements.
bool leave_out(const Case& c, const Offer& offer) {
  Case kept = c;
  bool any = false;
  for (std::size_t part = (c.set.size() + 1) / 2; part > 0; part /= 2)
    for (std::size_t from = 0; from < kept.set.size();) {
      Case next = kept;
      const auto begin = next.set.begin() + static_cast<std::ptrdiff_t>(from);
      const std::size_t count = std::min(part, next.set.size() - from);
      next.set.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
      if (offer(next)) {
        kept = std::move(next);
        any = true;
      } else {
        from += part;
      }
    }
  return any;
}

/// The axes of the inputs by their extents as the program writes them: "K" of a and of b.
std::map<std::string, std::vector<std::pair<std::string, std::size_t>>> shared_axes(const Case& c) {
  std::map<std::string, std::vector<std::pair<std::string, std::size_t>>> all;
  for (std::size_t k = 0; k < c.inputs.size(); ++k) {
    const std::vector<Expr>& shape = c.program->inputs[k].shape();
    if (shape.size() != c.inputs[k].shape.size()) continue;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const std::pair one(c.inputs[k].name, axis);
      all[shape[axis].to_string()].push_back(one);
      all[c.inputs[k].name + "/" + std::to_string(axis)] = {one};
    }
  }
  return all;
}

/// Moves the elements along an axis, of one tensor or of all that share it, as far as possible.
bool move_together(const Case& c, const Offer& offer) {
  for (const auto& [name, axes] : shared_axes(c)) {
    const auto axis_of = [&axes = axes](const SetElement& e) -> std::optional<std::size_t> {
      const auto at =
          std::ranges::find(axes, e.tensor, &std::pair<std::string, std::size_t>::first);
      if (at == axes.end()) return std::nullopt;
      return at->second;
    };
    std::optional<std::int64_t> least;
    for (const SetElement& e : c.set)
      if (const auto axis = axis_of(e))
        least = std::min(least.value_or(e.index[*axis]), e.index[*axis]);
    if (least.value_or(0) == 0) continue;
    Case next = c;
    for (SetElement& e : next.set)
      if (const auto axis = axis_of(e)) e.index[*axis] -= *least;
    if (offer(next)) return true;
  }
  return false;
}

/// Moves a single element: to index 0 of all axes, of one axis, half as far, or by one.
bool move_one(const Case& c, const Offer& offer) {
  const auto moved = [&](std::size_t k, const std::vector<std::int64_t>& index) {
    Case next = c;
    next.set[k].index = index;
    const bool taken = std::ranges::count_if(next.set, [&](const SetElement& e) {
                         return are_at_one_location(e, next.set[k]);
                       }) > 1;
    return !taken && offer(next);
  };
  for (std::size_t k = 0; k < c.set.size(); ++k) {
    const std::vector<std::int64_t> index = c.set[k].index;
    const std::vector<std::int64_t> first(index.size(), 0);
    if (index != first && moved(k, first)) return true;
    for (std::size_t axis = 0; axis < index.size(); ++axis)
      for (const std::int64_t to : {std::int64_t{0}, index[axis] / 2, index[axis] - 1}) {
        if (to >= index[axis] || to < 0) continue;
        std::vector<std::int64_t> next = index;
        next[axis] = to;
        if (moved(k, next)) return true;
      }
  }
  return false;
}

/// The order of values: 1, then -1, then other whole numbers, then all others, the smaller first.
std::pair<int, double> rank_of(double value) {
  if (value == 1) return {0, 0};
  if (value == -1) return {1, 0};
  const bool is_whole = std::isfinite(value) && value == std::trunc(value);
  return {is_whole ? 2 : 3, std::isnan(value) ? 0 : std::abs(value)};
}

bool simplify_values(const Case& c, const Offer& offer, bool all) {
  for (std::size_t k = 0; k < c.set.size(); ++k) {
    const Number value = c.set[k].value;
    if (!all && value.is_real()) continue;
    const double real = value.as_real(), whole = std::trunc(real);
    const auto t = std::ranges::find(c.inputs, c.set[k].tensor, &CaseTensor::name);
    for (const double simpler : {1.0, -1.0, whole, real - whole, std::trunc(real / 2)}) {
      if (!std::isfinite(simpler) || simpler == 0 || rank_of(simpler) >= rank_of(real)) continue;
      Case next = c;
      next.set[k].value =
          value.is_real() ? Number(simpler) : Number(static_cast<std::int64_t>(simpler));
      const bool fits = same(store_as(next.set[k].value, t->dtype), next.set[k].value);
      if (fits && offer(next)) return true;
    }
  }
  return false;
}

}  // namespace

void add_element_steps(std::vector<ShrinkStep>& steps) {
  // Integers, such as indices, come first, while all that they may read is still there.
  steps.push_back({"values", [](const Case& c, const Offer& offer) {
                     return !is_integer(c.instance.dtype) && simplify_values(c, offer, false);
                   }});
  steps.push_back({"elements", leave_out});
  steps.push_back({"indices", move_together});
  steps.push_back({"indices", move_one});
  steps.push_back({"values", [](const Case& c, const Offer& offer) {
                     return simplify_values(c, offer, true);
                   }});
}

std::optional<Case> with_elements_listed(const Case& c) {
  Case listed = c;
  listed.fill = {FillKind::zeros, 0};
  listed.set.clear();
  std::vector<Dense> inputs;
  try {
    inputs = filled_inputs(c, judge(*c.program, c.binding, c.fill.kind).radius);
  } catch (const Error&) {
    return std::nullopt;
  }
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const CaseTensor& t = c.inputs[k];
    for (std::int64_t at = 0; at < inputs[k].count(); ++at) {
      const Number value = inputs[k].at(at);
      if (inputs[k].is_zero(at) && !(value.is_real() && std::signbit(value.real()))) continue;
      SetElement e{t.name, std::vector<std::int64_t>(t.shape.size()), value};
      std::int64_t rest = at;
      for (std::size_t axis = t.shape.size(); axis-- > 0; rest /= t.shape[axis])
        e.index[axis] = rest % t.shape[axis];
      const bool again = std::ranges::any_of(
          t.layout.repeated, [&](int axis) { return e.index[static_cast<std::size_t>(axis)] > 0; });
      if (!again) listed.set.push_back(std::move(e));
    }
  }
  return listed;
}

}  // namespace mote
