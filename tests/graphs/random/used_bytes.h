// SPDX-License-Identifier: Apache-2.0
// The bytes of memory that each node of a concrete graph reads and writes, and which nodes are done
// before it begins: what checks of plans go by.
#pragma once

#include <cstdint>
#include <vector>

#include "mote/graph/schedule.h"
#include "mote/runtime/tensor.h"
#include "state.h"  // of the concrete graph

namespace mote::test {

/// The elements of a tensor that a node uses, in memory.
struct UsedBytes {
  std::uintptr_t begin = 0;  ///< of the lowest element
  std::uintptr_t end = 0;    ///< behind the highest
  bool is_written = false;
  bool may_be_result = false;  ///< a loop or branch may have its result there; then not written
  /// The tensor whose value it is: a view's root, and of a choice what was chosen in the last run.
  std::uint32_t value = 0;
  Tensor tensor;
};

/// Lists what each node of the graph uses, in its last run. A loop or a choice of branches uses
/// what its tensors around are, and writes all memory of the tensors inside.
std::vector<std::vector<UsedBytes>> used_bytes(const Graph::State& state);

/// True if an element of one has a byte of an element of the other, element by element.
bool share_elements(const UsedBytes& a, const UsedBytes& b);

/// Returns, for each node, the nodes that are done before it begins.
std::vector<std::vector<bool>> done_before(const StreamSchedule& schedule);

}  // namespace mote::test
