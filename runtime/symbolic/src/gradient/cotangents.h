// SPDX-License-Identifier: Apache-2.0
// The gradients of tensors while a graph is walked backwards. Gradients come for symbols that nodes
// read, whole tensors or views of them, and are asked for symbols that nodes write, when all that
// read their elements have given theirs.
//
// Regions of one tensor that share no element have their gradients in one tensor, a layer, as views
// of it: it is zero-filled only if they leave gaps. Regions that overlap are in different layers,
// which are added where both are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "by_symbol.h"
#include "gradient/builder.h"
#include "gradient/symbol_regions.h"
#include "mostly_one.h"

namespace mote {

class Cotangents {
 public:
  /// About that many tensors get gradients.
  Cotangents(GraphBuilder& builder, const SymbolRegions& regions, std::size_t tensors)
      : builder_(builder), graph_(builder.graph()), regions_(regions) {
    roots_.reserve(graph_.symbol_count(), tensors);
  }

  /// Announces one gradient for the symbol. All are announced before the first comes.
  void expect(TensorSymbol read);
  /// Returns the symbol to which the gradient should be written, if it is the only one; else an
  /// empty one. It has the symbol's form, except for the strides.
  TensorSymbol target(TensorSymbol read);
  /// Adds a gradient of the symbol's shape, which target() may have returned.
  void add(TensorSymbol read, TensorSymbol gradient);
  /// Returns the gradient; an empty symbol if none came for any of the elements.
  TensorSymbol of(TensorSymbol symbol);

 private:
  /// A region that is read.
  struct Slot {
    TensorSymbol symbol = {};
    std::size_t layer = 0;
    int expected = 0;
    TensorSymbol target = {};
    MostlyOne<TensorSymbol> terms = {};
    TensorSymbol value = {};  ///< the sum, once it was asked for
  };
  struct Layer {
    RegionIndex regions = {};
    std::int64_t elements = 0;
    TensorSymbol tensor = {};
  };
  /// The regions of a root that are not the root itself.
  struct Parts {
    TensorForm form = {};  ///< of a layer's tensor
    MadeShape shape = {};  ///< likewise
    std::vector<Slot> slots = {};
    std::unordered_map<std::string, std::size_t> by_region = {};
    std::unordered_map<std::uint32_t, std::size_t> by_symbol = {};
    std::vector<Layer> layers = {};
  };
  struct Root {
    Slot whole = {};
    std::unique_ptr<Parts> parts = {};
  };

  TensorSymbol carrier(TensorSymbol read);
  TensorSymbol pulled(TensorSymbol read, TensorSymbol carrier, TensorSymbol gradient);
  TensorSymbol seen_as(TensorSymbol symbol, TensorSymbol tensor);
  Slot& slot(TensorSymbol carrier);
  Slot& slot_of_part(Parts& parts, TensorSymbol carrier);
  TensorSymbol tensor(Parts& parts, Layer& layer);
  void finish(Parts& parts, Slot& slot);
  TensorSymbol layer_value(Parts& parts, Layer& layer, TensorSymbol symbol,
                           const ViewRegion& region);

  GraphBuilder& builder_;
  SymbolicGraph& graph_;
  const SymbolRegions& regions_;
  BySymbol<Root> roots_;
  std::unordered_map<std::uint32_t, std::uint32_t> parts_of_broadcasts_;  ///< carriers, by symbol
};

}  // namespace mote
