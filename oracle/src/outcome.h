// SPDX-License-Identifier: Apache-2.0
// Outcomes without a comparison.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "subject_run.h"

namespace mote {

inline Outcome outcome_of(Verdict verdict, std::string reason) {
  Outcome outcome;
  outcome.verdict = verdict;
  outcome.reason = std::move(reason);
  return outcome;
}

/// What a run that gave no result comes to; nullopt for one that did.
inline std::optional<Outcome> without_result(const RunResult& run) {
  if (run.ended) return run.ended;
  if (run.status == MOTE_OK) return std::nullopt;
  if (run.status == MOTE_OUT_OF_MEMORY) return outcome_of(Verdict::skipped, "out of memory");
  return outcome_of(run.status == MOTE_UNSUPPORTED ? Verdict::declined : Verdict::failed,
                    fmt::format("run returned status {}: {}", int{run.status}, run.message));
}

}  // namespace mote
