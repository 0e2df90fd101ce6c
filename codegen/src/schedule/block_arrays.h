// SPDX-License-Identifier: Apache-2.0
// The arrays that the iterations of a loop fill, each its own part, and that loops behind it read:
// where they are accessed, and how they are accessed when they hold a block of the iterations.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote {

/// An exception for loops that cannot run in blocks.
struct NoBlocks {
  std::string why;
};

class BlockArrays {
 public:
  /// The loops are the one that runs in blocks, the last, and those around it, whose bodies are
  /// just the next loop; they are statement `position` of the body. Throws NoBlocks if there are no
  /// arrays, or if an access of one is not at the loops' variables.
  BlockArrays(const LoopProgram& p, const Body& body, std::size_t position,
              const std::vector<Loop>& loops);

  const std::set<std::string>& names() const { return names_; }
  bool are_read(const Stmt& s) const;
  /// Returns the variables of the loops, which hold the statement's accesses, that run along the
  /// same axes as the blocked loop and those around it; nullopt if there are none. Throws NoBlocks
  /// if not all accesses are at these.
  std::optional<std::vector<Symbol>> variables_along(const Stmt& s,
                                                     const std::vector<Loop>& loops) const;
  /// Makes the body access the arrays of the block that begins at `start`, for iteration `at`.
  void access_block(Body& body, const Expr& at, Symbol start) const;
  /// Gives the arrays the shape of a block.
  void shrink(std::vector<TensorDecl>& tensors, std::int64_t amount, Symbol start) const;

 private:
  using Axes = std::vector<std::size_t>;
  void find(const LoopProgram& p, const Body& body, std::size_t position,
            const std::vector<Symbol>& variables);
  Axes axes_along(const Stmt& s, const std::string& array,
                  const std::vector<Symbol>& variables) const;
  std::vector<Expr> in_block(const std::string& array, const std::vector<Expr>& index,
                             const Expr& at) const;

  std::set<std::string> names_;
  std::map<std::string, Axes> axes_;  ///< of each array along the loops, the blocked one last
};

}  // namespace mote
