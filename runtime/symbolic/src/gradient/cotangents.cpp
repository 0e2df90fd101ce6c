// SPDX-License-Identifier: Apache-2.0
#include "gradient/cotangents.h"

#include <algorithm>

#include "mote/base/error.h"

namespace mote {
namespace {

bool repeats(const SymbolicGraph& graph, std::uint32_t view) {
  const SymbolInfo& info = graph.symbols()[view];
  return graph.view_step(graph.at(view)).kind == ViewKind::broadcast &&
         element_count(info.form) != element_count(graph.symbols()[info.base].form);
}

std::string key_of(const ViewRegion& region) {
  return to_string(region.form.shape) + to_string(region.form.strides) +
         std::to_string(region.offset);
}

}  // namespace

/// Returns the symbol that has the distinct elements of what is read: gradients of what repeats
/// these are summed. Where a broadcast was cut, the carrier has no elements but those that are
/// read: others of the tensor may be written later, and their gradient be asked for before this one
/// comes.
TensorSymbol Cotangents::carrier(TensorSymbol read) {
  const std::vector<std::uint32_t> views = regions_.views_to(read.index);
  const auto first =
      std::ranges::find_if(views, [&](std::uint32_t view) { return repeats(graph_, view); });
  if (first == views.end()) return read;
  const TensorSymbol base = graph_.at(graph_.symbols()[*first].base);
  const auto cuts = [&](std::uint32_t view) {
    const ViewKind kind = graph_.view_step(graph_.at(view)).kind;
    return kind == ViewKind::slice || kind == ViewKind::select;
  };
  if (element_count(graph_.form(read)) > 0 && std::none_of(first, views.end(), cuts)) return base;
  const auto [known, is_new] = parts_of_broadcasts_.try_emplace(read.index, base.index);
  if (is_new)
    for (const ViewStep& step : regions_.views_without_repetition(base.index, {first, views.end()}))
      known->second = graph_.view(graph_.at(known->second), step).index;
  return graph_.at(known->second);
}

/// Returns the gradient of the carrier from that of a view that repeats its elements.
TensorSymbol Cotangents::pulled(TensorSymbol read, TensorSymbol carrier, TensorSymbol gradient) {
  if (parts_of_broadcasts_.contains(read.index))
    return builder_.sum_to(gradient, builder_.like(carrier));
  for (; read != carrier; read = graph_.at(graph_.info(read).base)) {
    const ViewStep step = graph_.view_step(read);
    const MadeShape base = builder_.like(graph_.at(graph_.info(read).base));
    switch (step.kind) {
      case ViewKind::broadcast:
        gradient = builder_.sum_to(gradient, base);
        break;
      case ViewKind::reshape:
        gradient = builder_.reshaped(gradient, base);
        break;
      case ViewKind::permute: {
        AxisList inverse = step.numbers;
        for (int k = 0; k < step.numbers.size(); ++k)
          inverse[static_cast<int>(step.numbers[k])] = k;
        gradient = graph_.permute(gradient, inverse);
        break;
      }
      case ViewKind::slice:
      case ViewKind::select:
        throw InternalError("a gradient of a part of a broadcast has no carrier");
    }
  }
  return gradient;
}

/// Returns the part of `tensor`, which has the root's shape, that the symbol is of the root.
TensorSymbol Cotangents::seen_as(TensorSymbol symbol, TensorSymbol tensor) {
  for (const std::uint32_t view : regions_.views_to(symbol.index)) {
    const ViewStep step = graph_.view_step(graph_.at(view));
    if (step.kind == ViewKind::reshape)
      tensor = builder_.reshaped(tensor, builder_.like(graph_.at(view)));
    else if (step.kind == ViewKind::broadcast)
      tensor = builder_.broadcast(tensor, builder_.like(graph_.at(view)));
    else
      tensor = graph_.view(tensor, step);
  }
  return tensor;
}

Cotangents::Slot& Cotangents::slot(TensorSymbol carrier) {
  const std::uint32_t index = regions_.root_of(carrier.index);
  Root& root = roots_[index];
  if (index == carrier.index) return root.whole;
  if (!root.parts) {
    root.parts = std::make_unique<Parts>();
    root.parts->form = regions_.form_of(index);
    root.parts->shape = builder_.like(graph_.at(index));
  }
  return slot_of_part(*root.parts, carrier);
}

/// Returns the slot of the symbol's region; a new one goes to the first layer that has room.
Cotangents::Slot& Cotangents::slot_of_part(Parts& parts, TensorSymbol carrier) {
  const auto known = parts.by_symbol.find(carrier.index);
  if (known != parts.by_symbol.end()) return parts.slots[known->second];
  const ViewRegion region = regions_.region(carrier.index);
  const auto [at, is_new] = parts.by_region.emplace(key_of(region), parts.slots.size());
  parts.by_symbol.emplace(carrier.index, at->second);
  if (!is_new) {
    builder_.expecting(carrier, builder_.like(parts.slots[at->second].symbol));
    return parts.slots[at->second];
  }
  std::size_t layer = 0;
  while (layer < parts.layers.size() && parts.layers[layer].regions.overlaps(region)) ++layer;
  if (layer == parts.layers.size()) parts.layers.push_back({.regions = RegionIndex(parts.form)});
  parts.layers[layer].regions.add(region, static_cast<std::uint32_t>(parts.slots.size()));
  parts.layers[layer].elements += element_count(region.form);
  parts.slots.push_back({.symbol = carrier, .layer = layer});
  return parts.slots.back();
}

void Cotangents::expect(TensorSymbol read) { ++slot(carrier(read)).expected; }

TensorSymbol Cotangents::tensor(Parts& parts, Layer& layer) {
  if (layer.tensor) return layer.tensor;
  const bool is_tiled = layer.elements == element_count(parts.form);
  layer.tensor = builder_.following(is_tiled ? graph_.tensor(parts.form) : graph_.zeros(parts.form),
                                    parts.shape);
  return layer.tensor;
}

TensorSymbol Cotangents::target(TensorSymbol read) {
  const std::uint32_t root = regions_.root_of(read.index);
  if (root == read.index || carrier(read) != read) return {};
  Slot& slot = this->slot(read);
  if (slot.expected != 1) return {};
  Parts& parts = *roots_.find(root)->parts;
  if (!slot.target) slot.target = seen_as(read, tensor(parts, parts.layers[slot.layer]));
  return slot.target;
}

void Cotangents::add(TensorSymbol read, TensorSymbol gradient) {
  const TensorSymbol carrier = this->carrier(read);
  Slot& slot = this->slot(carrier);
  if (slot.value) throw InternalError("a gradient came after it was asked for");
  slot.terms.push_back(read == carrier ? gradient : pulled(read, carrier, gradient));
}

/// Sums the slot's terms, in its place in the layer's tensor.
void Cotangents::finish(Parts& parts, Slot& slot) {
  if (slot.value || slot.terms.empty()) return;
  const TensorSymbol location =
      slot.target ? slot.target : seen_as(slot.symbol, tensor(parts, parts.layers[slot.layer]));
  slot.value = builder_.sum(slot.terms.all(), location);
  slot.terms.clear();
}

TensorSymbol Cotangents::layer_value(Parts& parts, Layer& layer, TensorSymbol symbol,
                                     const ViewRegion& region) {
  bool is_there = false;
  layer.regions.any_overlapping(region, [&](std::uint32_t index) {
    finish(parts, parts.slots[index]);
    is_there = is_there || parts.slots[index].value;
    return false;
  });
  return is_there ? seen_as(symbol, tensor(parts, layer)) : TensorSymbol{};
}

TensorSymbol Cotangents::of(TensorSymbol symbol) {
  Root* const found = roots_.find(regions_.root_of(symbol.index));
  if (found == nullptr) return {};
  Slot& whole = found->whole;
  if (!whole.value && !whole.terms.empty()) whole.value = builder_.sum(whole.terms.all());
  if (whole.value) whole.terms.clear();
  const TensorSymbol part = whole.value ? seen_as(symbol, whole.value) : TensorSymbol{};
  if (!found->parts) return part;
  std::vector<TensorSymbol> terms = {part};
  Parts& parts = *found->parts;
  const ViewRegion region = regions_.region(symbol.index);
  for (Layer& layer : parts.layers) terms.push_back(layer_value(parts, layer, symbol, region));
  return builder_.sum(terms);
}

}  // namespace mote
