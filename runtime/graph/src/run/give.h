// SPDX-License-Identifier: Apache-2.0
// Gives the nodes of a plan to streams, and waits for them.
#pragma once

#include <memory>
#include <vector>

#include "state.h"

namespace mote::graph {

/// The streams of one run.
struct RunStreams {
  std::vector<Stream*> of_plan;  ///< one for each of the plan's: the graph's own, or the caller's
  std::vector<Stream*> own;      ///< the graph's own among them, and `joint`
  /// A stream on the host that waits for a device's streams, if the caller's is on a device too:
  /// only the host learns of the errors there.
  Stream* joint = nullptr;
};

/// Chooses streams. The caller's is taken for the first of the plan's on its device. While the
/// graph is traced, nodes on a device run in streams of the host, which wait for each.
RunStreams streams_for(Graph::State& state, const Plan& plan, Stream* caller);

/// Returns the state of a run that begins, which is the graph's latest.
std::shared_ptr<RunState> begin_run(Graph::State& state, std::shared_ptr<const Plan> plan);
/// Runs steps of a plan in a stream's work.
void run_steps(RunState& run, std::uint32_t first, std::uint32_t last) noexcept;
void give_action(const std::shared_ptr<RunState>& run, const Action& action,
                 const std::vector<Stream*>& streams);
void give_actions(const std::shared_ptr<RunState>& run, const std::vector<Stream*>& streams);
/// Waits for all streams and throws the run's error: that of a node, or else that of a device.
void finish(RunState& run, const std::vector<Stream*>& streams);
/// Waits for streams after not all of a run could be given to them.
void abandon(RunState& run, const std::vector<Stream*>& own, Stream* caller = nullptr) noexcept;

}  // namespace mote::graph
