// SPDX-License-Identifier: Apache-2.0
// The intervals that the outputs of a case must lie in: from the compiled bound of an op, or from
// the interpreter, which needs no time to get ready.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "judge/reference.h"
#include "mote/base/kernel.h"
#include "mote/oracle/case.h"
#include "mote/uops/bound.h"
#include "run/buffer.h"

namespace mote {

/// The ends of one output's elements, before they are rounded to its dtype; empty where the output
/// is certain: it must be what the reference gives.
struct Interval {
  std::vector<Dense> ends;  ///< lo, hi
  bool certain() const { return ends.empty(); }
};

class BoundOf {
 public:
  /// Made once for each instance and contract, of the form that it names. A null contract promises
  /// what is usual. Throws Error for an unknown form.
  static std::shared_ptr<const BoundOf> make(const Case& c, const mote_contract* given);
  /// With what the contract promises, of that form; at infinities as Contract says.
  static std::shared_ptr<const BoundOf> make(const Case& c, const mote_contract* given,
                                             std::string_view form, bool open_infinities = false);
  /// That of a null contract, interpreted even where there is a compiled one.
  static std::shared_ptr<const BoundOf> interpreted(const Case& c);

  bool certain(std::size_t output) const { return certain_.at(output); }
  /// Memory that it takes.
  std::size_t bytes(const Case& c) const;
  /// One for each output. Throws Error when it cannot be computed.
  std::vector<Interval> compute(const Case& c, std::vector<Dense>& inputs) const;

 private:
  enum class By : std::uint8_t { any, interpreter };
  static std::shared_ptr<const BoundOf> make(const Case& c, const Contract& contract,
                                             std::string_view form, By by);
  Case call(const Case& c) const;

  std::shared_ptr<const Program> program_;  ///< null where every output is certain
  std::vector<bool> certain_;
  bool widened_ = false;  ///< 16-bit inputs are given as f32
  std::map<std::string, Number> accuracies_;
  std::shared_ptr<const Reference> reference_;
};

/// The element lies between the ends, rounded to its dtype; NaN where both ends are; anything where
/// nothing is known.
bool accepts(const Interval& x, std::int64_t at, const Dense& got);
/// Nothing is known about the element.
bool is_indeterminate(const Interval& x, std::int64_t at, DType dtype);
/// Its distance from the reference as a share of what the bound allows; 0 where that is infinite.
double error_share(const Interval& x, std::int64_t at, const Dense& got, const Dense& expected);

}  // namespace mote
