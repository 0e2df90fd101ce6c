// SPDX-License-Identifier: Apache-2.0
// Nodes on streams: first an order, then a stream for each node by the time at which it can begin
// there, then the waits, by vector clocks.
#include "mote/graph/schedule.h"

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "mote/runtime/status.h"
#include "schedule/clocks.h"
#include "schedule/order.h"

namespace mote {
namespace {

constexpr std::uint32_t kNoEvent = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kNoStream = std::numeric_limits<std::uint32_t>::max();

/// Chooses a stream for one node after the other.
class Assignment {
 public:
  Assignment(const ScheduleProblem& problem, std::size_t limit, StreamSchedule& s)
      : problem_(problem), limit_(limit), s_(s), finish_(problem.node_count()) {}

  void assign(std::uint32_t node) {
    find_arrivals(node);
    const std::uint16_t device =
        problem_.devices.empty() ? std::uint16_t{0} : problem_.devices[node];
    using Choice = std::tuple<double, int, std::uint32_t>;  // the least is taken
    Choice best{std::numeric_limits<double>::infinity(), 0, kNoStream};
    if (streams_of_.size() <= device) streams_of_.resize(device + std::size_t{1});
    for (const std::uint32_t stream : streams_of_[device]) {
      const bool continues = arrivals_[stream].last == s_.position[last_[stream]];
      best = std::min(best,
                      Choice{std::max(free_[stream], begin_on(stream)), continues ? 0 : 1, stream});
    }
    if (streams_of_[device].size() < limit_)
      best = std::min(best, Choice{begin_on(kNoStream), 2, kNoStream});
    const auto [begin, rank, chosen] = best;
    put(node, chosen == kNoStream ? open(device) : chosen, begin);
    for (const std::uint32_t stream : touched_) arrivals_[stream] = {};
    touched_.clear();
  }

 private:
  /// The latest result that comes from a stream, and the last node there that gives one.
  struct Arrival {
    double time = 0;
    std::uint32_t last = kNoStream;
  };

  void find_arrivals(std::uint32_t node) {
    for (const std::uint32_t q : graph::predecessors_of(problem_, node)) {
      Arrival& arrival = arrivals_[s_.stream[q]];
      if (arrival.last == kNoStream) touched_.push_back(s_.stream[q]);
      arrival.time = std::max(arrival.time, finish_[q]);
      if (arrival.last == kNoStream || arrival.last < s_.position[q]) arrival.last = s_.position[q];
    }
    first_ = second_ = {0, kNoStream};
    for (const std::uint32_t stream : touched_) {
      const Latest latest{arrivals_[stream].time + problem_.wait_weight, stream};
      if (first_.stream == kNoStream || latest.time > first_.time)
        second_ = std::exchange(first_, latest);
      else if (second_.stream == kNoStream || latest.time > second_.time)
        second_ = latest;
    }
  }
  /// Returns when all inputs of the node are there, if it runs on that stream.
  double begin_on(std::uint32_t stream) const {
    const double others = first_.stream == stream ? second_.time : first_.time;
    return stream == kNoStream ? others : std::max(others, arrivals_[stream].time);
  }
  std::uint32_t open(std::uint16_t device) {
    const auto stream = static_cast<std::uint32_t>(s_.devices.size());
    s_.devices.push_back(device);
    streams_of_[device].push_back(stream);
    free_.push_back(0);
    last_.push_back(kNoStream);
    lengths_.push_back(0);
    arrivals_.emplace_back();
    return stream;
  }
  void put(std::uint32_t node, std::uint32_t stream, double begin) {
    s_.stream[node] = stream;
    s_.position[node] = lengths_[stream]++;
    last_[stream] = node;
    free_[stream] = finish_[node] = begin + graph::weight_of(problem_, node);
  }

  struct Latest {
    double time;
    std::uint32_t stream;
  };

  const ScheduleProblem& problem_;
  std::size_t limit_;
  StreamSchedule& s_;
  std::vector<double> finish_;  ///< of each node
  std::vector<std::vector<std::uint32_t>> streams_of_;
  std::vector<double> free_;  ///< when each stream has done its nodes
  std::vector<std::uint32_t> last_, lengths_;
  std::vector<Arrival> arrivals_;
  std::vector<std::uint32_t> touched_;
  Latest first_{}, second_{};  ///< the two latest arrivals from other streams
};

/// Finds the waits of one node after the other.
class Waits {
 public:
  Waits(const ScheduleProblem& problem, StreamSchedule& s)
      : problem_(problem),
        s_(s),
        clocks_(problem.node_count(), s.stream_count()),
        event_of_(problem.node_count(), kNoEvent),
        rank_(problem.node_count()),
        latest_(s.stream_count(), kNoStream),
        seen_(problem.node_count(), kNoStream) {
    for (std::uint32_t k = 0; k < s.order.size(); ++k) rank_[s.order[k]] = k;
  }

  void find(std::uint32_t node, std::vector<std::uint32_t>& waits) {
    clocks_.begin(node, s_.stream[node], s_.position[node]);
    candidates_.clear();
    for (const std::uint32_t q : graph::predecessors_of(problem_, node)) {
      s_.edges += std::exchange(seen_[q], node) != node ? 1U : 0U;
      if (clocks_.covers(node, s_.stream[q], s_.position[q])) continue;
      std::uint32_t& latest = latest_[s_.stream[q]];
      if (latest == kNoStream) candidates_.push_back(s_.stream[q]);
      if (latest == kNoStream || s_.position[latest] < s_.position[q]) latest = q;
    }
    for (std::uint32_t& candidate : candidates_)
      candidate = std::exchange(latest_[candidate], kNoStream);
    // A later node may follow an earlier one, never the other way round.
    std::ranges::sort(candidates_, std::ranges::greater(),
                      [&](std::uint32_t q) { return rank_[q]; });
    for (const std::uint32_t q : candidates_) {
      if (clocks_.covers(node, s_.stream[q], s_.position[q])) continue;
      clocks_.join(node, q, s_.stream[q], s_.position[q]);
      if (event_of_[q] == kNoEvent) {
        event_of_[q] = static_cast<std::uint32_t>(s_.events.size());
        s_.events.push_back(q);
      }
      waits.push_back(event_of_[q]);
    }
  }

 private:
  const ScheduleProblem& problem_;
  StreamSchedule& s_;
  graph::Clocks clocks_;
  std::vector<std::uint32_t> event_of_, rank_;
  std::vector<std::uint32_t> latest_;  ///< the last predecessor on each stream
  std::vector<std::uint32_t> seen_;    ///< the last node that counted an edge from each node
  std::vector<std::uint32_t> candidates_;
};

}  // namespace

namespace graph {

void add_waits(const ScheduleProblem& problem, StreamSchedule& s) {
  Waits finder(problem, s);
  std::vector<std::vector<std::uint32_t>> of_some;
  std::vector<std::uint32_t> place(s.node_count(), kNoEvent);  // of a node's waits in of_some
  std::vector<std::uint32_t> waits;
  for (const std::uint32_t node : s.order) {
    finder.find(node, waits);
    if (waits.empty()) continue;
    place[node] = static_cast<std::uint32_t>(of_some.size());
    of_some.push_back(std::exchange(waits, {}));
  }
  s.wait_begin.reserve(s.node_count() + 1);
  for (std::size_t n = 0; n < s.node_count(); ++n) {
    if (place[n] != kNoEvent)
      s.waits.insert(s.waits.end(), of_some[place[n]].begin(), of_some[place[n]].end());
    s.wait_begin.push_back(s.waits.size());
  }
}

}  // namespace graph

StreamSchedule schedule(const ScheduleProblem& problem, int streams) {
  graph::check_problem(problem, streams);
  const std::size_t count = problem.node_count();
  const bool one_device = std::ranges::all_of(
      problem.devices, [&](std::uint16_t d) { return d == problem.devices.front(); });
  StreamSchedule s;
  s.order = graph::find_topological_order(problem, streams == 1 && one_device);
  s.stream.resize(count);
  s.position.resize(count);
  Assignment assignment(problem, static_cast<std::size_t>(streams), s);
  for (const std::uint32_t node : s.order) assignment.assign(node);
  graph::add_waits(problem, s);
  return s;
}

}  // namespace mote
