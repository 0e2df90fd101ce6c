// SPDX-License-Identifier: Apache-2.0
// Loops and branches: nodes of a graph that run graphs of their own (Graph::add_while,
// Graph::add_case_of), and tensors whose memory is chosen while they run (Graph::choice).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "mote/base/export.h"
#include "mote/runtime/tensor.h"

namespace MOTE_API mote {

struct GraphTensor;
struct GraphNode;

/// The number of the iteration that each loop is in, from 0, the outermost loop first.
using LoopCounters = std::span<const std::int64_t>;

/// Returns the counters of the loops around the function that runs in this thread, which is a node
/// of a graph; none outside of loops. The numbers are those until the function returns.
LoopCounters loop_counters();

/// Returns a number that stands for the run that calls the function in this thread, or for the
/// evaluation that does; 0 outside of both. No two have one number.
std::uint64_t loop_owner();
/// Returns the number of the run or evaluation whose function called that one; 0 if none did.
std::uint64_t loop_owner_around();
/// Calls the function when that run or evaluation is over; it must not throw.
void at_end_of(std::uint64_t owner, std::function<void()> function);

/// Makes counters and owner those of this thread as long as it lives: for what runs loops itself.
class LoopScope {
 public:
  LoopScope(LoopCounters counters, std::uint64_t owner);
  ~LoopScope();
  LoopScope(const LoopScope&) = delete;
  LoopScope& operator=(const LoopScope&) = delete;

 private:
  LoopCounters counters_;
  std::uint64_t owner_;
  std::uint64_t around_;
};
/// A run or an evaluation, as long as it lives.
class LoopOwner {
 public:
  LoopOwner();
  ~LoopOwner();
  LoopOwner(const LoopOwner&) = delete;
  LoopOwner& operator=(const LoopOwner&) = delete;
  std::uint64_t number() const { return number_; }

 private:
  std::uint64_t number_;
};

/// A function that decides whether a loop goes on. It gets the counters of all loops around it, its
/// own one last, and the tensors that it was given with. What it throws is the error of the loop.
using ConditionFunction = std::function<bool(LoopCounters, std::span<const Tensor> reads)>;
/// A function that chooses a branch: 0 for the first; a negative number for none.
using BranchFunction = std::function<std::int64_t(LoopCounters, std::span<const Tensor> reads)>;

inline constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

}  // namespace mote
