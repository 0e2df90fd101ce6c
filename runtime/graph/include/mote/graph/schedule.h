// SPDX-License-Identifier: Apache-2.0
// The order of a graph's nodes on streams, as a value: it knows nodes and edges, no tensors. Nodes
// and predecessors -> for each node its stream, its position there and what it waits for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "mote/base/error.h"
#include "mote/base/export.h"

namespace MOTE_API mote {

/// Nodes are the numbers from 0 to node_count() - 1.
struct ScheduleProblem {
  /// The predecessors of node n are predecessors[begin[n]] to predecessors[begin[n + 1] - 1]; one
  /// may be given more than once.
  std::vector<std::size_t> begin = {0};
  std::vector<std::uint32_t> predecessors = {};
  /// An order of all nodes that is to be kept on each stream; if empty, one is chosen.
  std::vector<std::uint32_t> order = {};
  /// The device of each node, counted from 0; if empty, all are on device 0.
  std::vector<std::uint16_t> devices = {};
  /// The time that each node takes, in any unit; if empty, each takes 1.
  std::vector<double> weights = {};
  /// The time that it costs to wait for another stream, in the same unit.
  double wait_weight = 0;

  std::size_t node_count() const { return begin.empty() ? 0 : begin.size() - 1; }
};

/// Streams are the numbers from 0 to stream_count() - 1, each of one device. A stream runs its
/// nodes one after the other; before node n begins, it waits for the events of n. An event is
/// recorded in the stream of its node, right after that node.
struct StreamSchedule {
  std::vector<std::uint32_t> order;     ///< all nodes, such that each edge leads forward
  std::vector<std::uint32_t> stream;    ///< the stream of each node
  std::vector<std::uint32_t> position;  ///< the position of each node in its stream, from 0
  std::vector<std::uint16_t> devices;   ///< the device of each stream
  /// Node n waits for the events waits[wait_begin[n]] to waits[wait_begin[n + 1] - 1].
  std::vector<std::size_t> wait_begin = {0};
  std::vector<std::uint32_t> waits;
  std::vector<std::uint32_t> events;  ///< the node of each event
  std::size_t edges = 0;              ///< the number of different edges

  std::size_t node_count() const { return order.size(); }
  std::size_t stream_count() const { return devices.size(); }
  /// Returns how many edges need no wait: the order of a stream keeps them, or other waits do.
  std::size_t edges_without_wait() const { return edges - waits.size(); }

  friend bool operator==(const StreamSchedule&, const StreamSchedule&) = default;
};

/// Puts nodes on at most `streams` streams of each device. Equal problems give equal schedules. A
/// node begins as early as the weights allow; it stays in the stream of a predecessor where another
/// stream gains nothing. Without a given order, one stream runs the nodes in the order of their
/// numbers as far as edges allow, and several take the node first from which the longest way leads
/// to the end. Waits are the fewest for that order on those streams: none follows from others.
/// Takes O((n + e)·k) steps for n nodes, e edges and k streams, and O(n·log n) for an order. Throws
/// StatusError MOTE_INVALID for a problem that is malformed, an order that breaks an edge, and a
/// cycle, with its nodes.
StreamSchedule schedule(const ScheduleProblem& problem, int streams);

/// Returns the nodes of a cycle, each a predecessor of the next and the last of the first; nothing
/// if there is none.
std::optional<std::vector<std::uint32_t>> find_cycle(const ScheduleProblem& problem);

/// The guarantees of a schedule: which nodes are done before which others begin.
class HappensBefore {
 public:
  /// Takes O(n·k) memory. Throws StatusError MOTE_INVALID for a malformed schedule.
  explicit HappensBefore(const StreamSchedule& schedule);

  /// True if node a is done before node b begins, in every run. Takes O(1).
  bool operator()(std::uint32_t a, std::uint32_t b) const {
    return locations_[a].position < clocks_[b * streams_ + locations_[a].stream];
  }
  /// Returns how many nodes of the stream are done before node b begins.
  std::uint32_t done(std::uint32_t stream, std::uint32_t b) const {
    return clocks_[b * streams_ + stream];
  }

 private:
  struct Location {
    std::uint32_t stream;
    std::uint32_t position;
  };

  std::size_t streams_;
  std::vector<Location> locations_;
  /// The number of nodes of each stream that are done before a node begins.
  std::vector<std::uint32_t> clocks_;
};

/// Returns why the schedule is none of the problem: it is malformed, leaves a node out, puts nodes
/// of two devices on one stream, or keeps an edge in no way. Nothing if it is right.
std::optional<Reason> violation(const ScheduleProblem& problem, const StreamSchedule& schedule);
/// Names a wait that other waits and the order of the streams make needless, or an event for which
/// nothing waits. Nothing if there is none.
std::optional<Reason> redundancy(const StreamSchedule& schedule);

}  // namespace mote
