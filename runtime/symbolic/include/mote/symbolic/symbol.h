// SPDX-License-Identifier: Apache-2.0
// The handles of a symbolic graph: small values that name a tensor or a node of one graph. A handle
// of another graph, or of what was removed, is an error where it is used.
#pragma once

#include <cstdint>
#include <functional>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// The index of no symbol and of no node.
inline constexpr std::uint32_t kNoIndex = 0xFFFFFFFF;

/// A tensor of a symbolic graph. A default one stands for an optional tensor that is left out.
struct TensorSymbol {
  std::uint32_t graph = 0;  ///< the graph's identity; 0: none
  std::uint32_t index = kNoIndex;

  explicit operator bool() const { return graph != 0; }
  friend bool operator==(const TensorSymbol&, const TensorSymbol&) = default;
};

/// A node of a symbolic graph.
struct NodeSymbol {
  std::uint32_t graph = 0;
  std::uint32_t index = kNoIndex;

  explicit operator bool() const { return graph != 0; }
  friend bool operator==(const NodeSymbol&, const NodeSymbol&) = default;
};

}  // namespace mote

template <>
struct std::hash<mote::TensorSymbol> {
  std::size_t operator()(const mote::TensorSymbol& symbol) const {
    return std::hash<std::uint64_t>()(std::uint64_t{symbol.graph} << 32U | symbol.index);
  }
};
