// SPDX-License-Identifier: Apache-2.0
// From a failing case to a small one: greedy, domain-aware, deterministic. A step is kept if the
// case still fails in the same way; every candidate is a legal case. It ends where no step leads to
// a case that fails.
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
  int tries = 4000;
  double multiply_adds = 2e10;  ///< of all tries together
  double seconds = 20;  ///< of all tries together: the one limit that depends on the machine
  const std::atomic<int>* stop = nullptr;  ///< not 0: the user wants the end; may be null
  bool stopping() const { return stop != nullptr && stop->load() != 0; }
};

/// Inputs of more elements are not tried one by one.
constexpr std::int64_t kMaxToClear = 1024;
constexpr std::int64_t kMostToClear = kMaxToClear;  ///< its name before; it goes with version 0.3

struct Shrunk {
  Case smallest;
  /// The case with fill=zeros and those elements set that it needs to fail; nullopt where more than
  /// half of them are needed, or the smallest case is such a one.
  std::optional<Case> sparsest;
  int tries = 0;
  int steps = 0;  ///< tries that were kept
  /// Why its inputs have more than kSmallCase elements; empty where they have not.
  std::string reason;
};

/// `fails` says whether a case fails as `start` does. Smaller is, in this order of attempts: no
/// optional inputs, row-major layouts, the fill index, then onehot, then integer; least sizes and
/// derived sizes; parameters at their least or default. Where fewer or smaller tensors fail with
/// all elements 0 except a few, which are set, at 1 and at the first index where that fails too.
Shrunk shrink(const Case& start, const std::function<bool(const Case&)>& fails,
              const ShrinkLimits& limits = {});

}  // namespace mote
