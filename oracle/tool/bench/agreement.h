// SPDX-License-Identifier: Apache-2.0
// Compares the results of the backends on one case with each other, so that times of wrong results
// are not compared.
#pragma once

#include <string>
#include <vector>

#include "bench/measure.h"
#include "mote/oracle/run.h"

namespace mote::tool {

struct ResultAgreement {
  /// "equal bit for bit", "each within the bound of its contract", "not compared: …".
  std::string text;
  /// The backends whose results are wrong, each with the verdict and its reason.
  std::vector<DeclinedSubject> wrong;
};

/// If results differ in a bit, each is judged as `mote check` does, against the reference by the
/// bound of its kernel's contract.
ResultAgreement agreement_of(const Case& c, const std::vector<PreparedSubject>& subjects);

}  // namespace mote::tool
