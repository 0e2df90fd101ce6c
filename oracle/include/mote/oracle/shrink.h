// SPDX-License-Identifier: Apache-2.0
// Shrinks a failing case to a small one: greedy, domain-aware, deterministic. A step is kept if the
// case still fails in the same way; every candidate is a legal case. It ends when no step leads to
// a case that fails.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "mote/base/export.h"
#include "mote/oracle/case.h"

namespace MOTE_API mote {

/// The maximum number of input elements of a failure that can be read at a glance.
constexpr std::int64_t kSmallCase = 64;
/// The number of elements of the inputs; elements along a repeating axis count once.
std::int64_t input_elements(const Case& c);

struct ShrinkLimits {
  int tries = 4000;
  double multiply_adds = 2e10;  ///< the sum over all tries
  double seconds = 20;  ///< the sum over all tries: the only limit that depends on the machine
  const std::atomic<int>* stop = nullptr;  ///< nonzero: the user asks to stop; may be null
  bool stopping() const { return stop != nullptr && stop->load() != 0; }
};

/// Elements of larger inputs are not cleared one by one.
constexpr std::int64_t kMaxToClear = 1024;

struct Shrunk {
  Case smallest;
  /// The case with fill=zeros in which only the elements that it needs to fail are set; nullopt if
  /// more than half of them are needed, or the smallest case is already of this kind.
  std::optional<Case> sparsest;
  int tries = 0;
  int steps = 0;  ///< tries that were kept
  /// The reason if its inputs have more than kSmallCase elements; empty if they have not.
  std::string reason;
};

/// Shrinks `start`; `fails` says whether a case fails as `start` does. The order of attempts is: no
/// optional inputs, row-major layouts, the fill index, then onehot, then integer; least sizes and
/// derived sizes; parameters at their least or default. If fewer or smaller tensors fail with all
/// elements 0 except a few that are set, these are tried with value 1 and at the first index.
Shrunk shrink(const Case& start, const std::function<bool(const Case&)>& fails,
              const ShrinkLimits& limits = {});

}  // namespace mote
