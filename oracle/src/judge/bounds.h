// SPDX-License-Identifier: Apache-2.0
// The intervals that contain the correct outputs of a case: from the compiled bound of an op, or
// from the interpreter, which needs no preparation.
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

/// The ends of one output's elements, before they are rounded to its dtype; empty if the output is
/// certain: it must equal the reference.
struct Interval {
  std::vector<Dense> ends;  ///< the lower and the upper ends
  bool certain() const { return ends.empty(); }
};

class BoundOf {
 public:
  /// The bound for the instance, contract and the form that it names, made once. A null contract
  /// promises the default. Throws Error for an unknown form.
  static std::shared_ptr<const BoundOf> make(const Case& c, const mote_contract* given);
  /// The bound for the contract's promises with another form; infinities are treated as Contract
  /// says.
  static std::shared_ptr<const BoundOf> make(const Case& c, const mote_contract* given,
                                             std::string_view form, bool open_infinities = false);
  /// The bound of a null contract, always interpreted.
  static std::shared_ptr<const BoundOf> interpreted(const Case& c);

  bool certain(std::size_t output) const { return certain_.at(output); }
  /// The memory that computing it takes.
  std::size_t bytes(const Case& c) const;
  /// Returns one interval for each output. Throws Error when it cannot be computed.
  std::vector<Interval> compute(const Case& c, std::vector<Dense>& inputs) const;

 private:
  enum class By : std::uint8_t { any, interpreter };
  static std::shared_ptr<const BoundOf> make(const Case& c, const Contract& contract,
                                             std::string_view form, By by);
  Case call(const Case& c) const;

  std::shared_ptr<const Program> program_;  ///< null if every output is certain
  std::vector<bool> certain_;
  bool widened_ = false;  ///< 16-bit inputs are passed as f32
  std::map<std::string, Number> accuracies_;
  std::shared_ptr<const Reference> reference_;
};

/// True if the element lies between the ends, rounded to its dtype; NaN is accepted if both ends
/// are NaN, and anything if nothing is known.
bool accepts(const Interval& x, std::int64_t at, const Dense& got);
/// True if nothing is known about the element.
bool is_indeterminate(const Interval& x, std::int64_t at, DType dtype);
/// The distance from the reference as a share of what the error bound allows; 0 if that is
/// infinite.
double error_share(const Interval& x, std::int64_t at, const Dense& got, const Dense& expected);

}  // namespace mote
