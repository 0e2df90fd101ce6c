// SPDX-License-Identifier: Apache-2.0
// Why a case fails: what a kernel must have done for its results to be these, and where it fails.
// Each hypothesis is tested by computation: the reference on inputs altered as it says must give
// what the kernel gave. What fits none of them is said to.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/oracle/run.h"

namespace MOTE_API mote {

/// Cases, and those of them that fail.
struct Share {
  std::int64_t runs = 0;
  std::int64_t failed = 0;
};

struct Diagnosis {
  std::string kind;                     ///< "missing term"; empty: nothing that was tried fits
  std::string text;                     ///< what was computed, and in how many cases it agrees
  std::string condition;                ///< "K % 8 != 0"; empty: nothing simple holds
  bool condition_is_necessary = false;  ///< no fresh case fails without it, a third do with it
  bool condition_is_exact = false;      ///< and every one fails where it holds
  Share with, without;                  ///< fresh cases where it holds, and where it does not
  std::int64_t runs = 0;                ///< further cases of the op that were judged
  std::int64_t failed = 0;              ///< those that failed
  std::int64_t random_runs = 0;         ///< drawn ones, not made from the smallest case
  std::int64_t random_failed = 0;
};

/// `smallest` fails with that outcome; `judge` runs a case on the subject. A pure function of the
/// cases where the subject is one.
Diagnosis diagnose(const Case& smallest, const Outcome& outcome,
                   const std::function<Outcome(const Case&)>& judge);

/// Lines of the first screen: the diagnosis, how often, where.
std::string diagnosis_text(const Diagnosis& d);

}  // namespace mote
