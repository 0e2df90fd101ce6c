// SPDX-License-Identifier: Apache-2.0
// One walk from outputs to inputs. First it is decided which nodes gradients flow through, and
// whether each of these gradients can be computed; then nodes are appended.
#pragma once

#include <span>
#include <vector>

#include "gradient/cotangents.h"
#include "gradient/gradient_call.h"

namespace mote {

/// A node that gradients flow through.
struct ActiveNode {
  std::uint32_t node;
  WideMask given;   ///< outputs whose gradients come
  WideMask wanted;  ///< inputs whose gradients are needed
};

class Reverse {
 public:
  /// `nodes` are in topological order; symbols below `boundary` are tensors of their own.
  Reverse(GraphBuilder& builder, std::vector<std::uint32_t> nodes, std::uint32_t boundary);

  /// Returns the gradient of the sum of seeds times `of` for each of `wrt`; an empty symbol where
  /// it is 0 since nothing depends on it. Throws StatusError, before a node is appended, if a
  /// gradient on the way cannot be computed.
  std::vector<TensorSymbol> run(std::span<const TensorSymbol> of,
                                std::span<const TensorSymbol> seeds,
                                std::span<const TensorSymbol> wrt);

 private:
  void find_active(std::span<const TensorSymbol> of, std::span<const TensorSymbol> wrt);
  /// Makes it the call of the node; lists keep their memory.
  void set_call(GradientCall& call, const ActiveNode& active) const;
  void check(std::span<const TensorSymbol> of, std::span<const TensorSymbol> wrt) const;
  bool overlaps_any(std::span<const TensorSymbol> symbols, std::uint32_t symbol) const;
  std::vector<std::uint32_t> way_to(std::span<const TensorSymbol> of, std::size_t n) const;
  std::vector<std::uint32_t> way_from(std::span<const TensorSymbol> wrt, std::size_t n) const;
  std::string path(std::size_t failing, std::span<const TensorSymbol> of,
                   std::span<const TensorSymbol> wrt) const;
  template <typename Code>
  auto within(std::uint32_t node, const Code& code) const;
  void walk(const ActiveNode& active, Cotangents& cotangents);

  GraphBuilder& builder_;
  SymbolicGraph& graph_;
  std::vector<std::uint32_t> nodes_;
  SymbolRegions regions_;
  std::vector<ActiveNode> active_;  ///< in topological order
  GradientCall call_;               ///< of the node that is walked
  std::vector<bool> reached_;       ///< of `of`: whether it depends on `wrt`, or overlaps it
};

}  // namespace mote
