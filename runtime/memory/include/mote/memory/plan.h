// SPDX-License-Identifier: Apache-2.0
// Finds an offset in one region of memory for each block of a problem, so that blocks that are
// alive together do not overlap and the region is small. A plan is a function of the problem and
// the options: it is the same on every machine, since a search is limited by counted steps and not
// by time, and nothing runs in threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/memory/problem.h"

namespace MOTE_API mote {

/// The planner: `packing` keeps the best of several greedy packings and then searches; `seed` is
/// the allocation of NNC, one pass that cuts each block's memory from that of others.
enum class MemoryPlanner : std::uint8_t { packing, seed };

/// The work that the planner `packing` may spend where nothing meets the bound sooner: `fast` some
/// 100 ms for thousands of blocks, `normal` a second or two, `thorough` about a minute.
enum class MemoryEffort : std::uint8_t { fast, normal, thorough };

struct MemoryPlanOptions {
  MemoryPlanner planner = MemoryPlanner::packing;
  MemoryEffort effort = MemoryEffort::normal;
  /// A plan of at most this many bytes ends the work, as one that meets the bound does: the size of
  /// a memory that the blocks must fit into. 0 asks for as few bytes as can be found.
  std::uint64_t enough = 0;
  /// The steps that searches may take, instead of the effort's. A step is about one update of one
  /// number, a nanosecond or two. 0 leaves the choice to the effort.
  std::uint64_t steps = 0;
};

/// The locations of all blocks.
struct MemoryPlan {
  /// The offset of each block, a multiple of its alignment. A block of no bytes is at 0.
  std::vector<std::uint64_t> offsets;
  /// The bytes of the region: the greatest end of a block.
  std::uint64_t total = 0;
  /// memory_bound() of the problem; never above `total`.
  std::uint64_t bound = 0;
  /// The packing or search that found the largest part ("size, first fit"; "search"; "seed").
  std::string planner;
  /// The steps that searches took.
  std::uint64_t steps = 0;
};

/// Returns a plan. Throws Error if the problem is malformed (another number of blocks than its
/// interference has, an alignment that is no power of two) or if no plan below 2^63 bytes was
/// found.
MemoryPlan plan_memory(const MemoryProblem& problem, const MemoryPlanOptions& options = {});

/// Returns a number of bytes that no plan can be below: the most that are alive at once. Blocks
/// that lie one above the other are counted with the gaps that the least alignment of all forces.
/// For lifetimes it is exact in that sense; for pairs it is that of the heaviest clique found
/// (exact where the pairs are those of some lifetimes). Throws as plan_memory().
std::uint64_t memory_bound(const MemoryProblem& problem);

}  // namespace mote
