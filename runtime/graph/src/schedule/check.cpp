// SPDX-License-Identifier: Apache-2.0
// Checks a schedule, and finds what it guarantees, by vector clocks that are computed from its
// waits alone.
#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "mote/graph/schedule.h"
#include "schedule/clocks.h"
#include "schedule/order.h"

namespace mote {
namespace {

std::span<const std::uint32_t> waits_of(const StreamSchedule& s, std::size_t node) {
  return std::span(s.waits).subspan(s.wait_begin[node],
                                    s.wait_begin[node + 1] - s.wait_begin[node]);
}

std::string number(const char* what, std::size_t n) {
  return std::string(what) + " " + std::to_string(n);
}

/// Returns why the schedule's arrays do not fit each other.
std::optional<Reason> malformation(const StreamSchedule& s) {
  const std::size_t count = s.node_count();
  if (s.stream.size() != count || s.position.size() != count || s.wait_begin.size() != count + 1 ||
      s.wait_begin.front() != 0 || s.wait_begin.back() != s.waits.size() ||
      !std::ranges::is_sorted(s.wait_begin))
    return Reason{"its arrays do not fit " + number("an order of", count) + " nodes"};
  constexpr std::uint32_t kMissing = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> rank(count, kMissing);
  std::vector<std::uint32_t> lengths(s.stream_count());
  for (std::uint32_t k = 0; k < count; ++k) {
    const std::uint32_t node = s.order[k];
    if (node >= count || std::exchange(rank[node], k) != kMissing)
      return Reason{"its order must have each node once, got " + std::to_string(node)};
    if (s.stream[node] >= s.stream_count())
      return Reason{number("node", node) + " is on " + number("stream", s.stream[node]) +
                    ", there are " + std::to_string(s.stream_count())};
    if (s.position[node] != lengths[s.stream[node]]++)
      return Reason{number("node", node) + " is not at its position in its stream"};
  }
  for (const std::uint32_t node : s.events)
    if (node >= count)
      return Reason{"an event of " + number("node", node) + ", which is not there"};
  for (std::size_t n = 0; n < count; ++n)
    for (const std::uint32_t event : waits_of(s, n)) {
      if (event >= s.events.size())
        return Reason{number("node", n) + " waits for " + number("event", event) +
                      ", which is not there"};
      if (rank[s.events[event]] >= rank[n])
        return Reason{number("node", n) + " waits for a later one, " +
                      std::to_string(s.events[event])};
    }
  return std::nullopt;
}

graph::Clocks clocks_of(const StreamSchedule& s) {
  graph::Clocks clocks(s.node_count(), s.stream_count());
  for (const std::uint32_t node : s.order) {
    clocks.begin(node, s.stream[node], s.position[node]);
    for (const std::uint32_t event : waits_of(s, node)) {
      const std::uint32_t q = s.events[event];
      clocks.join(node, q, s.stream[q], s.position[q]);
    }
  }
  return clocks;
}

}  // namespace

HappensBefore::HappensBefore(const StreamSchedule& s) : streams_(s.stream_count()) {
  if (const std::optional<Reason> reason = malformation(s)) graph::refuse_schedule(reason->text);
  for (std::size_t n = 0; n < s.node_count(); ++n)
    locations_.push_back({s.stream[n], s.position[n]});
  clocks_ = clocks_of(s).take();
}

std::optional<Reason> violation(const ScheduleProblem& p, const StreamSchedule& s) {
  graph::check_problem(p, 1);
  if (std::optional<Reason> reason = malformation(s)) return reason;
  if (s.node_count() != p.node_count())
    return Reason{"it is one of " + std::to_string(s.node_count()) + " nodes, not of " +
                  std::to_string(p.node_count())};
  constexpr std::uint32_t kFresh = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> device_of(s.stream_count(), kFresh);
  for (std::size_t n = 0; n < p.node_count() && !p.devices.empty(); ++n) {
    std::uint32_t& device = device_of[s.stream[n]];
    if (device == kFresh) device = p.devices[n];
    if (device != p.devices[n])
      return Reason{number("stream", s.stream[n]) + " has nodes of two devices, " +
                    number("node", n) + " among them"};
  }
  const HappensBefore before(s);
  for (std::uint32_t n = 0; n < p.node_count(); ++n)
    for (const std::uint32_t q : graph::predecessors_of(p, n))
      if (!before(q, n))
        return Reason{number("node", n) + " may begin before its predecessor " + std::to_string(q) +
                      " is done"};
  return std::nullopt;
}

std::optional<Reason> redundancy(const StreamSchedule& s) {
  if (std::optional<Reason> reason = malformation(s)) return reason;
  graph::Clocks clocks(s.node_count(), s.stream_count());
  std::vector<bool> is_used(s.events.size());
  for (const std::uint32_t node : s.order) {
    clocks.begin(node, s.stream[node], s.position[node]);
    const std::span<const std::uint32_t> waits = waits_of(s, node);
    const std::vector<std::uint32_t> alone(clocks.of(node).begin(), clocks.of(node).end());
    for (const std::uint32_t left_out : waits) {  // every wait is left out once
      is_used[left_out] = true;
      std::ranges::copy(alone, clocks.of(node).begin());
      for (const std::uint32_t event : waits)
        if (event != left_out)
          clocks.join(node, s.events[event], s.stream[s.events[event]],
                      s.position[s.events[event]]);
      const std::uint32_t q = s.events[left_out];
      if (clocks.covers(node, s.stream[q], s.position[q]))
        return Reason{number("node", node) + " need not wait for " + number("node", q)};
    }
    std::ranges::copy(alone, clocks.of(node).begin());
    for (const std::uint32_t event : waits)
      clocks.join(node, s.events[event], s.stream[s.events[event]], s.position[s.events[event]]);
  }
  const auto unused = std::ranges::find(is_used, false);
  if (unused != is_used.end())
    return Reason{"nothing waits for " +
                  number("event", static_cast<std::size_t>(unused - is_used.begin()))};
  return std::nullopt;
}

}  // namespace mote
