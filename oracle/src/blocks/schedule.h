// SPDX-License-Identifier: Apache-2.0
// Decides when the nodes of a program are computed: in which stage, whether their values are kept,
// and which elements are left out. A plan (plan.h) is made from it.
#pragma once

#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "as.h"
#include "demand.h"
#include "masked.h"
#include "mote/uops/program.h"

namespace mote::blocks {

/// The node without StopGradient nodes, which do not change its value.
Uop plain(const Uop& u);
inline bool is_constant(const Uop& u) { return as<uop::Scalar>(u) || as<uop::Param>(u); }
inline bool is_scatter(const Uop& u) { return as<uop::Scatter>(u) || as<uop::SelectScatter>(u); }
/// True if it takes in its operands' blocks as they come, except the base of a scatter.
inline bool takes_in(const Uop& u) { return as<uop::Reduce>(u) || is_scatter(u); }
/// True if it is a whole array for all its readers.
inline bool is_array(const Uop& u) { return as<uop::Input>(u) || takes_in(u); }
/// True for a cast that leaves the value as it is: reals are doubles whatever their dtype.
bool is_widening(const Uop& u);
/// True for operands whose elements are read at any location, not only at the result's own.
bool reads_anywhere(const Uop& u, std::size_t operand);
inline bool same_shape(const Uop& a, const Uop& b) { return a.shape() == b.shape(); }

class Schedule {
 public:
  /// Masks the nodes of `masks`, or all that may be masked if it is null.
  Schedule(const Program& program, const Masks* masks);

  const std::vector<Uop>& order() const { return order_; }  ///< operands first
  const Masks& masks() const { return masks_; }
  const Mask* mask(const Uop& u) const;  ///< null: it is not masked
  bool is_kept(const Uop& u) const { return kept_.contains(u.id()); }
  /// The stage in which its blocks are computed; for an array, the first stage that can read it.
  int stage(const Uop& u) const { return stages_.at(u.id()); }
  /// The stage in which a Reduce takes in x.
  int reduced_in(const Uop& x) const { return is_array(x) ? whole(x) : stage(x); }
  /// The nodes that are read for its operands.
  std::vector<Uop> args(const Uop& u);
  /// The operand of a Map or a scatter: one element that stands for all of x, computed once, or x.
  Uop operand(const Uop& given);

 private:
  void put_in_order(const Uop& u);
  Uop one_of(const Uop& x);
  int whole(const Uop& u) const;
  int needed_by(const Uop& reader, const Uop& x, bool anywhere) const;
  void set_stage(const Uop& u);
  int scattered_in(const Uop& u);
  void keep(const Uop& u);
  void keep_operands(const Uop& u);
  void weigh(const Uop& u);
  void keep_or_repeat(const Uop& u);
  int work_again(const Uop& u);
  void find_mask(const Uop& u);

  std::optional<Demand> demand_;  ///< set if masked nodes are to be found
  std::vector<Uop> order_;
  std::set<const UopNode*> seen_;
  Masks masks_;
  std::unordered_map<const UopNode*, Uop> operands_;  ///< results of operand()
  std::unordered_map<const UopNode*, int> work_;
  std::unordered_map<const UopNode*, int> stages_;
  std::set<const UopNode*> read_later_;  ///< nodes that later stages read at their own location
  std::set<const UopNode*> heavy_;       ///< nodes that take much work
  std::unordered_map<const UopNode*, std::set<int>> used_;  ///< the stages that use it
  std::set<const UopNode*> kept_;
};

}  // namespace mote::blocks
