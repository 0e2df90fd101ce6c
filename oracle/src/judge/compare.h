// SPDX-License-Identifier: Apache-2.0
// Turns the outputs of two runs of a subject into a verdict.
#pragma once

#include <functional>
#include <string>
#include <string_view>
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
  /// Computed when first needed: if an element differs from the reference.
  std::function<const std::vector<Interval>&()> intervals;
  /// The intervals of the definition, if the contract names another form: a kernel may compute some
  /// elements by it, as one that multiplies padded rows but skips rows of padding. Needed only if
  /// the form's intervals refuse an element; empty: the contract names no form.
  std::function<const std::vector<Interval>&()> of_definition;
  /// The intervals of a gradient with nothing known where an infinity enters
  /// (Contract::open_infinities). They are needed only if an element that the others refuse is not
  /// finite, or should not be.
  std::function<const std::vector<Interval>&()> at_infinities;
  std::string damage;  ///< a write near the elements, or to an input; empty: none
  Verdict damage_verdict = Verdict::out_of_bounds;
  mote_status status_of_second = MOTE_OK;
  std::string_view message_of_second = {};
  bool is_given = false;      ///< a person gave the case, so that it is not vacuous
  bool deterministic = true;  ///< according to the kernel's contract
};

Outcome compare(const Comparison& c);

/// The reason why the case could not reveal a wrong kernel; empty if it could.
std::string vacuity(const Comparison& c);

}  // namespace mote
