// SPDX-License-Identifier: Apache-2.0
// The intervals that contain the correct outputs of a case: from the compiled bound of an op, or
// from the interpreter, which needs no preparation.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "judge/interval.h"
#include "judge/reference.h"
#include "mote/base/kernel.h"
#include "mote/oracle/case.h"
#include "mote/uops/bound.h"
#include "run/buffer.h"

namespace mote {

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

}  // namespace mote
