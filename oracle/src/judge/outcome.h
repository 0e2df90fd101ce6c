// SPDX-License-Identifier: Apache-2.0
// Makes outcomes without a comparison.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "run/subject_run.h"

namespace mote {

inline Outcome outcome_of(Verdict verdict, std::string reason) {
  Outcome outcome;
  outcome.verdict = verdict;
  outcome.reason = std::move(reason);
  return outcome;
}

/// The outcome of a run that gave no result; nullopt for one that did.
inline std::optional<Outcome> without_result(const RunResult& run) {
  if (run.ended) return run.ended;
  if (run.status == MOTE_OK) return std::nullopt;
  if (run.status == MOTE_OUT_OF_MEMORY) return outcome_of(Verdict::skipped, "out of memory");
  if (run.status != MOTE_UNSUPPORTED)
    return outcome_of(Verdict::failed,
                      fmt::format("run returned status {}: {}", int{run.status}, run.message));
  Outcome declined = outcome_of(Verdict::declined,
                                fmt::format("run declines what can_run accepted: {}",
                                            run.message.empty() ? "no reason given" : run.message));
  declined.declined_by_run = true;
  return declined;
}

}  // namespace mote
