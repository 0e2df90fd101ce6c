// SPDX-License-Identifier: Apache-2.0
// Finds why a case fails: a defect that explains the kernel's results, and the condition under
// which it fails. Each hypothesis is tested by computation: the reference of the altered program
// must give the kernel's results. If no hypothesis fits, the diagnosis says so.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/oracle/run.h"

namespace MOTE_API mote {

/// The number of cases, and how many of them fail.
struct Share {
  std::int64_t runs = 0;
  std::int64_t failed = 0;
};

struct Diagnosis {
  std::string kind;       ///< "missing term"; empty: no hypothesis fits
  std::string text;       ///< the computation of the kernel, and in how many cases it agrees
  std::string condition;  ///< "K % 8 != 0"; empty: no simple condition holds
  bool condition_is_necessary = false;  ///< no fresh case fails without it, a third do with it
  bool condition_is_exact = false;      ///< every case fails where it holds, too
  Share with, without;                  ///< fresh cases where it holds, and where it does not
  std::int64_t runs = 0;                ///< further cases of the op that were judged
  std::int64_t failed = 0;              ///< runs that failed
  std::int64_t random_runs = 0;         ///< drawn cases, not made from the smallest case
  std::int64_t random_failed = 0;
};

/// Diagnoses `smallest`, which fails with that outcome; `judge` runs a case on the subject. The
/// result is a pure function of the cases if the subject is one, unless the time is over first: no
/// further case is drawn after that many seconds, half of them for the condition.
Diagnosis diagnose(const Case& smallest, const Outcome& outcome,
                   const std::function<Outcome(const Case&)>& judge,
                   double seconds = std::numeric_limits<double>::infinity());

/// The lines for the terminal: the diagnosis, how often, and where.
std::string diagnosis_text(const Diagnosis& d);

}  // namespace mote
