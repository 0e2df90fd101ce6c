// SPDX-License-Identifier: Apache-2.0
#include "mote/symbolic/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "borrow.h"
#include "checkpoint/rewire.h"
#include "checkpoint/worth.h"
#include "fail.h"

namespace mote {
namespace {

/// One way to checkpoint a graph.
struct Attempt {
  CheckpointPolicy policy = CheckpointPolicy::square_root;
  std::size_t segments = 0;  ///< of `square_root`; 0: the number that is estimated to need least
  int slots = 0;             ///< of `binomial`
};

std::string name(const Attempt& attempt) {
  switch (attempt.policy) {
    case CheckpointPolicy::square_root:
      return "square_root";
    case CheckpointPolicy::binomial:
      return "binomial, " + std::to_string(attempt.slots) + " slots";
    case CheckpointPolicy::cheap:
      return "cheap";
    case CheckpointPolicy::budget:
      break;
  }
  return "none";
}

/// Returns the cuts that are estimated to need the fewest bytes.
Cuts best_cuts(const SymbolicGraph& graph, const ForwardWay& way) {
  const auto most =
      static_cast<std::size_t>(4 * std::ceil(std::sqrt(static_cast<double>(way.nodes.size()) + 1)));
  Cuts best;
  std::size_t least = estimated_bytes(graph, way, best);
  for (std::size_t segments = 2; segments <= most; ++segments) {
    Cuts cuts = cut_evenly(graph, way, segments);
    const std::size_t bytes = estimated_bytes(graph, way, cuts);
    if (bytes >= least) continue;
    least = bytes;
    best = std::move(cuts);
  }
  return best;
}

CheckpointReport apply(SymbolicGraph& graph, std::span<const TensorSymbol> losses,
                       std::span<const TensorSymbol> keep, const Attempt& attempt) {
  const ForwardWay way = find_way(graph, losses, keep);
  Copies copies(graph, way);
  CheckpointReport report;
  report.forward_nodes = way.nodes.size();
  report.segments = 1;
  if (attempt.policy == CheckpointPolicy::cheap) {
    recompute_cheaply(graph, way, copies);
  } else if (attempt.policy == CheckpointPolicy::binomial) {
    const Cuts cuts = chain_cuts(graph, way);
    if (cuts.empty() && way.nodes.size() > 1)
      fail_graph("checkpoint: the way forward of " + graph.name() +
                 " is no chain: no position of it is crossed by one value alone");
    report.segments = cuts.size() + 1;
    recompute_binomially(graph, way, cuts, static_cast<std::uint64_t>(attempt.slots), copies);
  } else {
    const Cuts cuts =
        attempt.segments == 0 ? best_cuts(graph, way) : cut_evenly(graph, way, attempt.segments);
    report.segments = cuts.size() + 1;
    recompute_segments(graph, way, cuts, copies);
  }
  copies.order();
  report.copies = copies.count();
  report.copied_bytes = copies.bytes();
  report.most_runs = way.nodes.empty() ? 0 : 1;
  for (const auto& [node, runs] : copies.runs())
    report.most_runs = std::max(report.most_runs, runs + 1);
  report.text = name(attempt) + ": " + std::to_string(report.segments) + " segments, " +
                std::to_string(report.copies) + " nodes computed again";
  return report;
}

/// The attempts that the policy `budget` chooses from.
std::vector<Attempt> attempts(const SymbolicGraph& graph, const ForwardWay& way) {
  std::vector<Attempt> all = {{.policy = CheckpointPolicy::cheap}, {}};
  for (std::size_t segments = 2; segments <= way.nodes.size(); segments += (segments + 1) / 2)
    all.push_back({.segments = segments});
  const std::size_t layers = chain_cuts(graph, way).size() + 1;
  if (layers > 2)
    for (std::size_t slots = 1; slots < layers; slots += (slots + 1) / 2)
      all.push_back({.policy = CheckpointPolicy::binomial, .slots = static_cast<int>(slots)});
  return all;
}

/// A copy of the graph that was checkpointed in one way.
struct Trial {
  SymbolicGraph graph;
  CheckpointReport report;

  Trial(const SymbolicGraph& of, std::span<const TensorSymbol> losses,
        std::span<const TensorSymbol> keep, const Attempt& attempt)
      : graph(of) {
    const auto in_copy = [&](std::span<const TensorSymbol> symbols) {
      std::vector<TensorSymbol> same;
      for (const TensorSymbol symbol : symbols) same.push_back(graph.at(symbol.index));
      return same;
    };
    report = apply(graph, in_copy(losses), in_copy(keep), attempt);
  }
};

/// Element-wise work is cheap, not free: it is done where less memory is needed for it, and no
/// more time than kMaxTime of the graph's own.
constexpr double kMaxTime = 1.03;

CheckpointReport apply_cheap(SymbolicGraph& graph, std::span<const TensorSymbol> losses,
                             const CheckpointOptions& options) {
  const Attempt cheap{.policy = CheckpointPolicy::cheap};
  const Trial trial(graph, losses, options.keep, cheap);
  CheckpointReport nothing;
  nothing.segments = 1;
  nothing.forward_nodes = trial.report.forward_nodes;
  nothing.most_runs = std::min<std::size_t>(trial.report.forward_nodes, 1);
  if (trial.report.copies == 0) return trial.report;
  const std::uint64_t before = planned_bytes(graph);
  const std::uint64_t after = planned_bytes(trial.graph);
  if (after >= before) {
    nothing.text = "cheap: nothing, since " + std::to_string(trial.report.copies) +
                   " nodes more would need " + std::to_string(after) + " bytes instead of " +
                   std::to_string(before);
    return nothing;
  }
  if (options.context != nullptr) {
    const double ratio = time_ratio(trial.graph, graph, *options.context);
    if (ratio > kMaxTime) {
      nothing.text = "cheap: nothing, since " + std::to_string(trial.report.copies) +
                     " nodes more took " + std::to_string(ratio) + " times the time";
      return nothing;
    }
  }
  return apply(graph, losses, options.keep, cheap);
}

CheckpointReport fit_budget(SymbolicGraph& graph, std::span<const TensorSymbol> losses,
                            const CheckpointOptions& options) {
  CheckpointReport none;
  none.text = "none: it fits as it is";
  std::uint64_t least = planned_bytes(graph);
  if (least <= options.budget) return none;
  std::optional<Attempt> best;
  std::size_t least_copied = 0;
  std::uint64_t bytes_of_best = 0;
  for (const Attempt& attempt : attempts(graph, find_way(graph, losses, options.keep))) {
    const Trial trial(graph, losses, options.keep, attempt);
    const CheckpointReport& report = trial.report;
    const std::uint64_t bytes = planned_bytes(trial.graph);
    least = std::min(least, bytes);
    if (bytes > options.budget) continue;
    const bool is_better = !best || report.copied_bytes < least_copied ||
                           (report.copied_bytes == least_copied && bytes < bytes_of_best);
    if (!is_better) continue;
    best = attempt;
    least_copied = report.copied_bytes;
    bytes_of_best = bytes;
  }
  if (!best)
    fail_graph("checkpoint: " + graph.name() + " needs at least " + std::to_string(least) +
                   " bytes, the budget is " + std::to_string(options.budget),
               MOTE_OUT_OF_MEMORY);
  return apply(graph, losses, options.keep, *best);
}

}  // namespace

CheckpointReport checkpoint(SymbolicGraph& graph, std::span<const TensorSymbol> losses,
                            const CheckpointOptions& options) {
  if (graph.output_indices().empty())
    fail_graph("checkpoint: " + graph.name() + " has no outputs, so that nothing would be kept");
  if (options.policy > CheckpointPolicy::cheap)
    fail_graph("checkpoint: policy " + std::to_string(static_cast<int>(options.policy)) +
               " is none");
  if (options.policy == CheckpointPolicy::binomial && options.slots < 1)
    fail_graph("checkpoint: slots must be at least 1, got " + std::to_string(options.slots));
  return detail::change_whole(graph, [&] {
    if (options.policy == CheckpointPolicy::budget) return fit_budget(graph, losses, options);
    if (options.policy == CheckpointPolicy::cheap) return apply_cheap(graph, losses, options);
    return apply(graph, losses, options.keep, {.policy = options.policy, .slots = options.slots});
  });
}

std::uint64_t binomial_steps(std::uint64_t n, std::uint64_t slots) {
  if (n <= 1) return n;
  __extension__ using Wide = unsigned __int128;
  // With c states, the one at the start included, `repeats` is the least r with n <= C(c + r, c).
  const Wide c = Wide{std::min(slots, n - 1)} + 1;  // more states than steps are of no use
  Wide repeats = 0;
  Wide reach = 1;
  if (c == 1) {
    repeats = Wide{n} - 1;
    reach = n;
  }
  while (reach < n) {
    ++repeats;
    reach = reach * (c + repeats) / repeats;
  }
  // r*n - C(c + r, c + 1) steps advance, and each layer runs once more with its way back.
  const Wide steps = repeats * n - reach * repeats / (c + 1) + n;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return steps > kMost ? kMost : static_cast<std::uint64_t>(steps);
}

}  // namespace mote
