// SPDX-License-Identifier: Apache-2.0
// From a failing case to a small one: greedy, domain-aware, deterministic. A step is kept if the
// case still fails in the same way; every candidate is a legal case.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "mote/base/export.h"
#include "mote/oracle/case.h"

namespace MOTE_API mote {

/// Input elements of a failure that can be read at a glance.
constexpr std::int64_t kSmallCase = 64;
/// Elements of the inputs, those of an axis that repeats once.
std::int64_t input_elements(const Case& c);

struct ShrinkLimits {
  int tries = 2000;
  double multiply_adds = 2e10;  ///< of all tries together
  double seconds = 20;  ///< of all tries together: the one limit that depends on the machine
  const std::atomic<int>* stop = nullptr;  ///< not 0: the user wants the end; null: nobody asks
  bool stopping() const { return stop != nullptr && stop->load() != 0; }
};

struct Shrunk {
  Case smallest;
  int tries = 0;
  int steps = 0;  ///< tries that were kept
  /// Why its inputs have more than kSmallCase elements; empty where they have not.
  std::string reason;
};

/// `fails` says whether a case fails as `start` does. Smaller is, in this order of attempts: no
/// optional inputs, row-major layouts, the fill index, then onehot, then integer; least sizes and
/// derived sizes; parameters at their least or default.
Shrunk shrink(const Case& start, const std::function<bool(const Case&)>& fails,
              const ShrinkLimits& limits = {});

/// Inputs of more elements are not tried one by one.
constexpr std::int64_t kMostToClear = 1024;

/// The case with fill=zeros and those elements set that it needs to fail, at 1 where it fails with
/// that too; nullopt where more than half are needed, or none can be left out.
std::optional<Case> clear_elements(const Case& c, const std::function<bool(const Case&)>& fails,
                                   const ShrinkLimits& limits = {});

}  // namespace mote
