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

std::string key_of(const Region& region) {
  return to_string(region.form.shape) + to_string(region.form.strides) +
         std::to_string(region.offset);
}

}  // namespace

Cotangents::Root& Cotangents::root(std::uint32_t index) {
  const auto [at, is_new] = roots_.try_emplace(index);
  if (is_new) at->second.form = regions_.form_of(index);
  return at->second;
}

/// Returns the symbol up to which elements are distinct: gradients of what repeats it are summed.
TensorSymbol Cotangents::carrier(TensorSymbol read) const {
  for (const std::uint32_t view : regions_.views_to(read.index))
    if (repeats(graph_, view)) return graph_.at(graph_.symbols()[view].base);
  return read;
}

/// Returns the gradient of the carrier from that of a view of it.
TensorSymbol Cotangents::pulled(TensorSymbol read, TensorSymbol carrier, TensorSymbol gradient) {
  for (; read != carrier; read = graph_.at(graph_.info(read).base)) {
    const ViewStep step = graph_.view_step(read);
    const TensorForm& base = graph_.form(graph_.at(graph_.info(read).base));
    switch (step.kind) {
      case ViewKind::broadcast:
        gradient = builder_.sum_to(gradient, base.shape);
        break;
      case ViewKind::reshape:
        gradient = builder_.reshaped(gradient, base.shape);
        break;
      case ViewKind::permute: {
        AxisList inverse = step.numbers;
        for (int k = 0; k < step.numbers.size(); ++k)
          inverse[static_cast<int>(step.numbers[k])] = k;
        gradient = graph_.permute(gradient, inverse);
        break;
      }
      case ViewKind::slice:
      case ViewKind::select: {
        const TensorSymbol whole = graph_.zeros(
            {base.dtype, base.shape, checked_strides(base.dtype, base.shape), base.device});
        graph_.copy(gradient, graph_.view(whole, step));
        gradient = whole;
        break;
      }
    }
  }
  return gradient;
}

/// Returns the part of `tensor`, which has the root's shape, that the symbol is of the root.
TensorSymbol Cotangents::seen_as(TensorSymbol symbol, TensorSymbol tensor) {
  for (const std::uint32_t view : regions_.views_to(symbol.index)) {
    const ViewStep step = graph_.view_step(graph_.at(view));
    tensor = step.kind == ViewKind::reshape ? builder_.reshaped(tensor, step.numbers)
                                            : graph_.view(tensor, step);
  }
  return tensor;
}

/// Returns the slot of the symbol's region; a new one goes to the first layer that has room.
Cotangents::Slot& Cotangents::slot(TensorSymbol carrier) {
  Root& root = this->root(regions_.root_of(carrier.index));
  const auto known = root.by_symbol.find(carrier.index);
  if (known != root.by_symbol.end()) return root.slots[known->second];
  const Region region = regions_.region(carrier.index);
  const auto [at, is_new] = root.by_region.emplace(key_of(region), root.slots.size());
  root.by_symbol.emplace(carrier.index, at->second);
  if (!is_new) return root.slots[at->second];
  std::size_t layer = 0;
  while (layer < root.layers.size() && root.layers[layer].regions.overlaps(region)) ++layer;
  if (layer == root.layers.size()) root.layers.emplace_back();
  root.layers[layer].regions.add(region, static_cast<std::uint32_t>(root.slots.size()));
  root.layers[layer].elements += element_count(region.form);
  root.layers[layer].slots.push_back(root.slots.size());
  root.slots.push_back({.symbol = carrier, .layer = layer});
  return root.slots.back();
}

void Cotangents::expect(TensorSymbol read) { ++slot(carrier(read)).expected; }

/// True if the layer has one region, the root itself: its gradient needs no tensor to be put in.
bool Cotangents::is_whole(const Root& root, const Layer& layer) const {
  return layer.slots.size() == 1 && regions_.is_root(root.slots[layer.slots.front()].symbol.index);
}

TensorSymbol Cotangents::tensor(Root& root, Layer& layer) {
  if (!layer.tensor)
    layer.tensor = layer.elements == element_count(root.form) ? graph_.tensor(root.form)
                                                              : graph_.zeros(root.form);
  return layer.tensor;
}

TensorSymbol Cotangents::target(TensorSymbol read) {
  if (carrier(read) != read) return {};
  Root& root = this->root(regions_.root_of(read.index));
  Slot& slot = this->slot(read);
  Layer& layer = root.layers[slot.layer];
  if (slot.expected != 1 || slot.symbol != read || is_whole(root, layer)) return {};
  if (!slot.target) slot.target = seen_as(read, tensor(root, layer));
  return slot.target;
}

void Cotangents::add(TensorSymbol read, TensorSymbol gradient) {
  const TensorSymbol carrier = this->carrier(read);
  Slot& slot = this->slot(carrier);
  if (slot.value) throw InternalError("a gradient came after it was asked for");
  slot.terms.push_back(pulled(read, carrier, gradient));
}

/// Sums the slot's terms, in its place in the layer's tensor.
void Cotangents::finish(Root& root, Slot& slot) {
  if (slot.value || slot.terms.empty()) return;
  Layer& layer = root.layers[slot.layer];
  TensorSymbol place = slot.target;
  if (!place && !is_whole(root, layer)) place = seen_as(slot.symbol, tensor(root, layer));
  slot.value = builder_.sum(slot.terms, place);
  slot.terms.clear();
}

TensorSymbol Cotangents::layer_value(Root& root, Layer& layer, TensorSymbol symbol,
                                     const Region& region) {
  bool is_there = false;
  layer.regions.any_overlapping(region, [&](std::uint32_t index) {
    Slot& slot = root.slots[index];
    finish(root, slot);
    is_there = is_there || slot.value;
    return false;
  });
  if (!is_there) return {};
  if (is_whole(root, layer)) return seen_as(symbol, root.slots[layer.slots.front()].value);
  return seen_as(symbol, tensor(root, layer));
}

TensorSymbol Cotangents::of(TensorSymbol symbol) {
  const auto found = roots_.find(regions_.root_of(symbol.index));
  if (found == roots_.end()) return {};
  Root& root = found->second;
  const Region region = regions_.region(symbol.index);
  std::vector<TensorSymbol> parts;
  for (Layer& layer : root.layers) parts.push_back(layer_value(root, layer, symbol, region));
  return builder_.sum(parts);
}

}  // namespace mote
