// SPDX-License-Identifier: Apache-2.0
// The state of the generator of random programs, and one function for each family of nodes that it
// can add. A function returns the new node, or an empty handle if it does not apply.
#pragma once

#include <optional>
#include <vector>

#include "random_program.h"
#include "rng.h"

namespace mote::test {

class ProgramBuilder {
 public:
  ProgramBuilder(Rng& rng, const Budget& budget) : rng_(rng), budget_(budget) {}

  void add_inputs();
  /// Adds the inputs and nodes of sums of products, in place of add_inputs().
  void add_products();
  void add_node();
  ProgramSpec finish();
  int node_count() const { return static_cast<int>(pool_.size() - inputs_.size()); }

 private:
  using Extents = std::vector<Expr>;

  // shapes
  Expr some_extent();
  Axis some_axis();
  Extents some_shape(int rank);
  bool fits(const Extents& shape) const;
  /// True if the extent is at least 1 whenever C is.
  static bool surely_positive(const Expr& extent);
  bool same_shape(const Extents& a, const Extents& b) const;
  Expr unaliased(const Expr& e) const { return e.substitute(alias_); }

  // values
  const Uop& recent();
  Number some_number(DType dtype);
  Number some_fill(DType dtype);
  /// Returns a node of that shape: an existing one, or one read through a random map.
  Uop like(const Extents& shape, std::optional<DType> dtype);
  Uop condition(const Extents& shape);
  static Uop as(const Uop& u, DType dtype) { return u.dtype() == dtype ? u : cast(u, dtype); }

  // index maps
  Uop read(const Uop& u, const Extents& shape, const std::vector<Expr>& from);
  static std::vector<Expr> identity(int rank);
  Expr some_index(int rank);
  Expr iota_value(int rank);

  // families of nodes
  Uop make_unary(const Uop& u);
  Uop make_binary(const Uop& u);
  Uop make_where(const Uop& u);
  Uop make_mask(const Uop& u);
  Uop make_cast(const Uop& u);
  Uop make_reduce(const Uop& u);
  Uop make_broadcast(const Uop& u);
  Uop make_shift(const Uop& u);
  Uop make_permutation(const Uop& u);
  Uop make_merge(const Uop& u);
  Uop make_split(const Uop& u);
  Uop make_diagonal(const Uop& u);
  Uop make_pick(const Uop& u);
  Uop make_any_map(const Uop& u);
  Uop make_window(const Uop& u);
  Uop make_select(const Uop& u);
  Uop make_scatter(const Uop& u);
  Uop make_select_scatter(const Uop& u);
  Uop make_param(const Uop& u);
  Uop make_stop(const Uop& u);
  // sums of products
  struct Products;
  Uop add_input(DType dtype, const Extents& shape);
  Products some_axes();
  Uop some_left(const Products& all, DType dtype);
  Uop some_right(const Products& all, DType dtype);
  Uop changed_by_position(const Uop& u);
  Uop some_epilogue(const Uop& sum, const Products& all);
  // idioms whose shape the passes were made for
  Uop make_product(const Uop& u);
  Uop make_normalised(const Uop& u);
  Uop make_masked(const Uop& u);
  Uop make_running(const Uop& u);
  Uop make_overlap(const Uop& u);
  Uop make_twin(const Uop& x);

  DType some_dtype();
  /// Returns the base of a scatter: zeros, or a node.
  Uop some_base(const Extents& shape, DType dtype);
  ScatterOp some_scatter_op(DType dtype);
  std::vector<Expr> some_locations(int rank, int target_rank);
  Uop argmax_of_some(const Uop& u);
  Uop reduced(ReduceOp op, const Uop& u, const std::vector<int>& axes);

  Rng& rng_;
  Budget budget_;
  std::vector<Uop> inputs_;
  std::vector<Uop> pool_;  ///< inputs, then nodes
  std::map<Symbol, Expr> alias_;
  std::vector<Constraint> constraints_;
};

}  // namespace mote::test
