// SPDX-License-Identifier: Apache-2.0
#include "bench/agreement.h"

#include <fmt/format.h>

#include "run/scan.h"

namespace mote::tool {

ResultAgreement agreement_of(const Case& c, const std::vector<PreparedSubject>& subjects) {
  if (subjects.size() < 2) return {"not compared: there is no other", {}};
  bool equal = true;
  for (const PreparedSubject& s : subjects)
    equal = equal && same_values(subjects.front().outputs, s.outputs);
  if (equal) return {"equal bit for bit", {}};
  ResultAgreement agreement{"each within the bound of its contract", {}};
  Prepared prepared(c, {.is_given = true});
  for (const PreparedSubject& s : subjects) {
    const Outcome outcome = prepared.run(*s.entry.backend, s.entry.plugin);
    if (is_failure(outcome.verdict)) {
      agreement.wrong.push_back(
          {s.name(), outcome.reason.empty()
                         ? std::string(name(outcome.verdict))
                         : fmt::format("{}: {}", name(outcome.verdict), outcome.reason)});
      agreement.text = "wrong results";
    } else if (outcome.verdict != Verdict::passed && agreement.wrong.empty()) {
      agreement.text = fmt::format("not judged: {}: {}", s.name(), outcome.reason);
    }
  }
  return agreement;
}

}  // namespace mote::tool
