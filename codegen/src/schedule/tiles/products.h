// SPDX-License-Identifier: Apache-2.0
// Takes reductions whose results share operands out of the statements of a loop: the scores of a
// row of attention, Σ_d q[t, d]·k[s, d], stand in the loop that finds their maximum, and become a
// nest of their own ahead of it.
#pragma once

#include <string>
#include <vector>

#include "schedule/tiles/panels.h"

namespace mote {

/// A reduction for each row and each iteration of some loops, the last of which runs along vectors.
struct Product {
  /// The loops below the row, without what rows leave out; the last one's body is the reduction and
  /// the store of its result.
  std::vector<Loop> loops;
  Conditions of_vector;  ///< the iterations of the last loop that a row has
  Symbol variable;       ///< of the reduction's outermost loop
  TiledReduction reduction;
};

/// The loop whose iterations are rows, and the loops around it.
struct RowLoop {
  const Loop& loop;
  std::vector<const Loop*> around;  ///< the loops around it, outermost first
  Symbol start;                     ///< the variable of the loop over tiles of rows
  std::int64_t height;
};

/// Returns the loops around the rows, the rows, and those of the product.
SharedLoops chain_of(const RowLoop& rows, const std::vector<Loop>& loops);

class ProductFinder {
 public:
  /// `names` are bound in an iteration, so that no operand may read them; those in `used` are
  /// taken.
  ProductFinder(LoopProgram& p, const RowLoop& rows, std::set<std::string> names,
                std::set<std::string>& used)
      : p_(p), rows_(rows), names_(std::move(names)), used_(used) {}

  /// Returns the products in the statement, which then reads their results from arrays; adds these
  /// to the program.
  std::vector<Product> take(Stmt& s);

 private:
  void visit(Stmt& s);
  std::optional<Product> product(const Loop& reduction) const;
  void take_out(Product product, Stmt& s, Body& body);

  LoopProgram& p_;
  const RowLoop rows_;
  const std::set<std::string> names_;
  std::set<std::string>& used_;
  std::set<std::string> written_;
  std::vector<Loop> loops_;  ///< those around the statement, below the row
  Conditions of_vector_;     ///< limits of the last one that depend on the row
  std::vector<Product> found_;
};

}  // namespace mote
