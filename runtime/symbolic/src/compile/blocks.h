// SPDX-License-Identifier: Apache-2.0
// Finds the roots of a graph that need memory of the plan, those that share it in place, and when
// each is needed.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "compile/control_layout.h"
#include "compile/steps.h"
#include "mote/graph/schedule.h"
#include "mote/memory/problem.h"
#include "mote/symbolic/compile.h"

namespace mote {

/// The owner of a root's memory.
enum class Owner : std::uint8_t {
  plan,      ///< a block of the plan
  caller,    ///< the caller binds it
  constant,  ///< the graph's constants, and tensors that are always zero
  chosen,    ///< a loop or a case..of gives it, at one of several locations
};

/// The blocks in the memory of one device, or of the host.
struct DeviceBlocks {
  DLDevice device{kDLCPU, 0};
  MemoryProblem problem = {};
  std::vector<std::uint32_t> first = {};  ///< the first step that writes each block
  /// The last step that uses each block; the number of steps: an output.
  std::vector<std::uint32_t> last = {};
};

struct Blocks {
  std::vector<Owner> owner;  ///< of each symbol that is a root
  /// The block of each symbol that is a root of the plan, among those of its device.
  std::vector<std::uint32_t> block;
  std::vector<DeviceBlocks> devices;  ///< the host first, then others as steps meet them
};

/// An output of a node that takes the memory of an input, as symbols, both roots.
struct SharedPair {
  std::uint32_t node = kNoIndex;
  std::uint32_t input = kNoIndex;
  std::uint32_t output = kNoIndex;
};

/// Finds the blocks, also those in which loops and branches have their results and their tensors,
/// which `controls` then names. `kept` and `bound` are symbols whose roots are asked for after a
/// run, and whose roots the caller binds; if `is_separate`, each block lives throughout.
Blocks find_blocks(const SymbolicGraph& graph, const Steps& steps, const StreamSchedule& schedule,
                   std::span<const SharedPair> pairs, std::span<const std::uint32_t> kept,
                   std::span<const std::uint32_t> bound, bool is_separate,
                   std::map<std::uint32_t, ControlLayout>& controls);

}  // namespace mote
