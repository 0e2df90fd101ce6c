// SPDX-License-Identifier: Apache-2.0
// From what two runs of a subject left behind to a verdict.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "judge/bounds.h"
#include "mote/oracle/run.h"
#include "run/buffer.h"

namespace mote {

struct Comparison {
  const Case& of;
  const std::vector<Dense>& inputs;
  const std::vector<Dense>& expected;
  const std::vector<Dense>& first;  ///< outputs over the first poison
  const std::vector<Dense>& second;
  /// Computed when first asked for: only where an element differs from the reference.
  std::function<const std::vector<Interval>&()> intervals;
  /// Those of the definition, where the contract names another form: a kernel may compute some
  /// elements by it, as one that multiplies what pads rows but skips rows that are padding. Asked
  /// for only where the form's refuse an element; empty: the contract names none.
  std::function<const std::vector<Interval>&()> of_definition;
  /// Of a gradient those with nothing known where an infinity enters (Contract::open_infinities).
  /// Asked for only where an element that the others refuse is not finite, or should not be.
  std::function<const std::vector<Interval>&()> at_infinities;
  std::string damage;  ///< a write beside the elements, or to an input; empty: none
  Verdict damage_verdict = Verdict::out_of_bounds;
  mote_status status_of_second = MOTE_OK;
  bool is_given = false;      ///< a person gave the case, so that it is not vacuous
  bool deterministic = true;  ///< the kernel says that it is
};

Outcome compare(const Comparison& c);

/// Why the case could not have told a wrong kernel; empty where it could.
std::string vacuity(const Comparison& c);

}  // namespace mote
