// SPDX-License-Identifier: Apache-2.0
// Views of symbols, and which elements two regions of one memory share.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "fail.h"
#include "mote/runtime/tensor.h"
#include "mote/symbolic/symbolic_graph.h"
#include "mote/symbolic/view.h"

namespace mote {
namespace {

Tensor stepped(const ViewStep& step, const Tensor& x) {
  const AxisList& n = step.numbers;
  const auto need = [&](int count) {
    if (n.size() != count)
      fail_graph(std::string(name(step.kind)) + " needs " + std::to_string(count) +
                 " numbers, got " + std::to_string(n.size()));
  };
  const auto axis = [&](std::int64_t value) {
    if (value < 0 || value >= x.rank())
      fail_graph(std::string(name(step.kind)) + " along axis " + std::to_string(value) + " of " +
                 describe(x) + ": it has " + std::to_string(x.rank()) + " axes");
    return static_cast<int>(value);
  };
  switch (step.kind) {
    case ViewKind::slice:
      need(4);
      return x.slice(axis(n[0]), n[1], n[2], n[3]);
    case ViewKind::select:
      need(2);
      return x.select(axis(n[0]), n[1]);
    case ViewKind::permute:
      return x.permute(n);
    case ViewKind::broadcast:
      return x.broadcast_to(n);
    case ViewKind::reshape:
      return x.reshape(n);
  }
  fail_graph("a view of an unknown kind");
}

/// An axis of two regions' difference: extent and stride, the stride above 0.
struct Axis {
  std::int64_t last = 0;
  std::int64_t stride = 1;
};

/// The most steps of the search for a shared element; beyond it one is assumed.
constexpr int kMaxSteps = 20000;

/// Decides whether sum_k i_k * stride_k = target for some 0 <= i_k <= last_k, by the largest
/// strides first: the others' reach and their greatest common divisor leave few values for each.
class Equation {
 public:
  explicit Equation(std::vector<Axis> axes) : axes_(std::move(axes)) {
    std::ranges::sort(axes_, [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
    reach_.resize(axes_.size() + 1, 0);
    divisor_.resize(axes_.size() + 1, 0);
    for (std::size_t k = axes_.size(); k-- > 0;) {
      reach_[k] = reach_[k + 1] + axes_[k].last * axes_[k].stride;
      divisor_[k] = std::gcd(divisor_[k + 1], axes_[k].stride);
    }
  }

  bool has_solution(std::int64_t target, std::size_t k = 0) {
    if (target < 0 || target > reach_[k]) return false;
    if (target == 0) return true;
    if (k == axes_.size() || target % divisor_[k] != 0) return false;
    if (++steps_ > kMaxSteps) return true;
    const std::int64_t stride = axes_[k].stride;
    const std::int64_t most = std::min(axes_[k].last, target / stride);
    const std::int64_t missing = std::max<std::int64_t>(0, target - reach_[k + 1]);
    for (std::int64_t i = (missing + stride - 1) / stride; i <= most; ++i)
      if (has_solution(target - i * stride, k + 1)) return true;
    return false;
  }

 private:
  std::vector<Axis> axes_;
  std::vector<std::int64_t> reach_;
  std::vector<std::int64_t> divisor_;
  int steps_ = 0;
};

/// Adds the region's axes; returns the offset of its lowest element.
std::int64_t add_axes(const Region& region, std::vector<Axis>& axes, bool& is_empty) {
  std::int64_t lowest = region.offset;
  for (int axis = 0; axis < region.form.shape.size(); ++axis) {
    const std::int64_t last = region.form.shape[axis] - 1;
    const std::int64_t stride = region.form.strides[axis];
    if (last < 0) is_empty = true;
    if (last <= 0 || stride == 0) continue;
    if (stride < 0) lowest += last * stride;
    axes.push_back({last, std::abs(stride)});
  }
  return lowest;
}

/// Calls function(offset) for each element, until it returns false; returns whether it never did.
template <typename Function>
bool all_elements(const Region& region, const Function& function) {
  const AxisList& shape = region.form.shape;
  std::array<std::int64_t, kMaxAxes> index{};
  std::int64_t offset = region.offset;
  while (true) {
    if (!function(offset)) return false;
    int axis = shape.size() - 1;
    for (; axis >= 0; --axis) {
      const auto k = static_cast<std::size_t>(axis);
      offset += region.form.strides[axis];
      if (++index[k] < shape[axis]) break;
      offset -= shape[axis] * region.form.strides[axis];
      index[k] = 0;
    }
    if (axis < 0) return true;
  }
}

/// The largest part whose elements are looked at one by one.
constexpr std::int64_t kMaxElements = 65536;

}  // namespace

const char* name(ViewKind kind) {
  constexpr std::array names = {"slice", "select", "permute", "broadcast", "reshape"};
  return names.at(static_cast<std::size_t>(kind));
}

Tensor apply(const ViewStep& step, const Tensor& x) { return stepped(step, x); }

Region apply(const ViewStep& step, const Region& region) {
  const TensorForm& form = region.form;
  const Tensor view =
      stepped(step, Tensor::over(nullptr, form.dtype, form.shape, form.strides, form.device));
  const auto bytes = static_cast<std::int64_t>(view.dl().byte_offset);
  return {{view.dtype(), view.shape(), view.strides(), view.device()},
          region.offset + bytes / static_cast<std::int64_t>(size_of(form.dtype))};
}

std::int64_t element_count(const TensorForm& form) {
  std::int64_t count = 1;
  for (const std::int64_t extent : form.shape) count *= extent;
  return count;
}

bool overlap(const Region& a, const Region& b) {
  std::vector<Axis> axes;
  bool is_empty = false;
  const std::int64_t lowest_a = add_axes(a, axes, is_empty);
  std::int64_t reach_a = 0;
  for (const Axis& axis : axes) reach_a += axis.last * axis.stride;
  const std::int64_t lowest_b = add_axes(b, axes, is_empty);
  if (is_empty) return false;
  // With i' = last - i for the axes of b, lowest_a + sum i*s = lowest_b + sum j*t becomes one sum.
  std::int64_t reach = 0;
  for (const Axis& axis : axes) reach += axis.last * axis.stride;
  const std::int64_t target = lowest_b + (reach - reach_a) - lowest_a;
  return Equation(std::move(axes)).has_solution(target);
}

bool contains(const Region& whole, const Region& part) {
  if (element_count(part.form) == 0 || whole == part) return true;
  std::vector<Axis> axes;
  bool is_empty = false;
  const std::int64_t lowest = add_axes(whole, axes, is_empty);
  if (is_empty) return false;
  std::int64_t reach = 0;
  for (const Axis& axis : axes) reach += axis.last * axis.stride;
  std::vector<Axis> of_part;
  const std::int64_t first = add_axes(part, of_part, is_empty);
  std::int64_t reach_of_part = 0;
  for (const Axis& axis : of_part) reach_of_part += axis.last * axis.stride;
  if (first < lowest || first + reach_of_part > lowest + reach) return false;
  if (reach + 1 == element_count(whole.form)) return true;  // no gaps
  if (element_count(part.form) > kMaxElements) return false;
  return all_elements(
      part, [&](std::int64_t offset) { return Equation(axes).has_solution(offset - lowest); });
}

Region SymbolicGraph::region(TensorSymbol symbol) const {
  const SymbolInfo& of = info(symbol);
  return {form(symbol), of.offset};
}

const ViewStep& SymbolicGraph::view_step(TensorSymbol view) const {
  const SymbolInfo& of = info(view);
  if (of.kind != SymbolKind::view) fail_graph(text(view) + " is no view");
  return steps_[of.side];
}

void SymbolicGraph::place_view(SymbolInfo& view, const ViewStep& step) const {
  const SymbolInfo& base = symbols_[view.base];
  const Region region = apply(step, {base.form, base.offset});
  view.form = region.form;
  view.offset = region.offset;
  view.root = base.root;
}

TensorSymbol SymbolicGraph::view(TensorSymbol x, const ViewStep& step, std::string_view name) {
  form(x);
  SymbolInfo info;
  info.name = name;
  info.kind = SymbolKind::view;
  info.base = x.index;
  info.side = static_cast<std::uint32_t>(steps_.size());
  place_view(info, step);
  const std::uint32_t index = new_symbol(std::move(info));
  steps_.push_back(step);
  return at(index);
}

TensorSymbol SymbolicGraph::slice(TensorSymbol x, int axis, std::int64_t begin, std::int64_t count,
                                  std::int64_t step) {
  return view(x, {ViewKind::slice, {axis, begin, count, step}});
}
TensorSymbol SymbolicGraph::select(TensorSymbol x, int axis, std::int64_t index) {
  return view(x, {ViewKind::select, {axis, index}});
}
TensorSymbol SymbolicGraph::permute(TensorSymbol x, const AxisList& order) {
  return view(x, {ViewKind::permute, order});
}
TensorSymbol SymbolicGraph::broadcast_to(TensorSymbol x, const AxisList& shape) {
  return view(x, {ViewKind::broadcast, shape});
}
TensorSymbol SymbolicGraph::reshape(TensorSymbol x, const AxisList& shape) {
  return view(x, {ViewKind::reshape, shape});
}

}  // namespace mote
