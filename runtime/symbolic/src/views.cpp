// SPDX-License-Identifier: Apache-2.0
// Views of symbols, and which elements two regions of one memory share.
#include <array>

#include "check_known.h"
#include "fail.h"
#include "mote/runtime/overlap.h"
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

ViewPlaces locations(const ViewRegion& region) {
  return {region.form, region.offset * static_cast<std::int64_t>(size_of(region.form.dtype))};
}

}  // namespace

const char* name(ViewKind kind) {
  constexpr std::array names = {"slice", "select", "permute", "broadcast", "reshape"};
  return names.at(static_cast<std::size_t>(kind));
}

Tensor apply(const ViewStep& step, const Tensor& x) { return stepped(step, x); }

ViewRegion apply(const ViewStep& step, const ViewRegion& region) {
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

bool overlap(const ViewRegion& a, const ViewRegion& b) {
  return share_bytes(locations(a), locations(b));
}

ViewRegion SymbolicGraph::region(TensorSymbol symbol) const {
  const SymbolInfo& of = info(symbol);
  return {form(symbol), of.offset};
}

const ViewStep& SymbolicGraph::view_step(TensorSymbol view) const {
  const SymbolInfo& of = info(view);
  if (of.kind != SymbolOrigin::view) fail_graph(text(view) + " is no view");
  return steps_[of.side];
}

void SymbolicGraph::place_view(SymbolInfo& view, const ViewStep& step) {
  const SymbolInfo& base = symbols_[view.base];
  const ViewRegion region = apply(step, {base.form, base.offset});
  view.form = forms_.of(region.form);
  view.offset = region.offset;
  view.root = base.root;
}

TensorSymbol SymbolicGraph::view(TensorSymbol x, const ViewStep& step, std::string_view name) {
  check_known(*this, x, std::string(mote::name(step.kind)) + ": the shape of");
  SymbolInfo info;
  info.name = name;
  info.kind = SymbolOrigin::view;
  info.base = x.index;
  info.side = static_cast<std::uint32_t>(steps_.size());
  place_view(info, step);
  steps_.push_back(step);  // first: a step that no view has does no harm
  return at(new_symbol(std::move(info)));
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
