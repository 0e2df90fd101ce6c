// SPDX-License-Identifier: Apache-2.0
// Counts the locations at which each node of a program is read. A location is a root (a node with a
// tensor, or an output) and an index; equal indices within a root are shared.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "mote/uops/uop.h"

namespace mote {

/// The locations that read a node.
struct Readers {
  std::size_t count = 0;
  std::size_t repeated = 0;  ///< the locations whose index is not injective
};

/// The nodes of a program, operands first, and the facts about each, by its number in that order.
struct Nodes {
  explicit Nodes(std::span<const Uop> outputs);

  std::vector<Uop> order;
  std::vector<std::vector<std::size_t>> reads;  ///< operands, in their order
  std::vector<char> leaf;
  std::vector<char> materialised;
  std::vector<Readers> readers;     ///< the readers from all roots together
  std::vector<std::size_t> stored;  ///< the nodes of the outputs
};

/// The nodes that one root sees, by number, in order.
using SeenReaders = std::vector<std::pair<std::size_t, Readers>>;

/// Keeps the readers of every node while nodes are materialised one by one: a root is analysed
/// again only if it sees the node that changed.
class ReaderAnalysis {
 public:
  explicit ReaderAnalysis(Nodes& nodes);

  void change(std::size_t node, bool materialised);

 private:
  void add(std::size_t node, bool is_output);

  Nodes& nodes_;
  std::map<std::pair<std::size_t, bool>, SeenReaders> roots_;
};

}  // namespace mote
