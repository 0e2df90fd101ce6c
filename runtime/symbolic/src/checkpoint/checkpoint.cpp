// SPDX-License-Identifier: Apache-2.0
#include "mote/symbolic/checkpoint.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <ranges>
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

/// Returns the cuts that are estimated to need the fewest bytes: of numbers of segments that are a
/// sixteenth apart from each other, and of those between the best one's neighbours.
Cuts best_cuts(const Segmenter& segmenter, const ForwardWay& way) {
  const auto most =
      static_cast<std::size_t>(4 * std::ceil(std::sqrt(static_cast<double>(way.nodes.size()) + 1)));
  Cuts best;
  std::size_t least = segmenter.bytes(best);
  std::size_t best_segments = 1;
  const auto consider = [&](std::size_t segments) {
    Cuts cuts = segmenter.cut_evenly(segments);
    const std::size_t bytes = segmenter.bytes(cuts);
    if (bytes >= least) return;
    least = bytes;
    best = std::move(cuts);
    best_segments = segments;
  };
  const auto step = [](std::size_t segments) { return std::max<std::size_t>(1, segments / 16); };
  for (std::size_t segments = 2; segments <= most; segments += step(segments)) consider(segments);
  const std::size_t found = best_segments;
  for (std::size_t segments = found - step(found) + 1; segments < found + step(found); ++segments)
    if (segments > 1 && segments != found) consider(segments);
  return best;
}

/// Makes the copies of an attempt. Returns the number of segments.
std::size_t recompute(SymbolicGraph& graph, const ForwardWay& way, const Attempt& attempt,
                      Copies& copies) {
  if (attempt.policy == CheckpointPolicy::cheap) {
    recompute_cheaply(graph, way, copies);
    return 1;
  }
  if (attempt.policy == CheckpointPolicy::binomial) {
    const Cuts cuts = chain_cuts(graph, way);
    if (cuts.empty() && way.nodes.size() > 1)
      fail_graph("checkpoint: the way forward of " + graph.name() +
                 " is no chain: no position of it is crossed by one value alone");
    recompute_binomially(graph, way, cuts, static_cast<std::uint64_t>(attempt.slots), copies);
    return cuts.size() + 1;
  }
  const Segmenter segmenter(graph, way);
  const Cuts cuts =
      attempt.segments == 0 ? best_cuts(segmenter, way) : segmenter.cut_evenly(attempt.segments);
  recompute_segments(graph, way, cuts, copies);
  return cuts.size() + 1;
}

CheckpointReport apply(SymbolicGraph& graph, std::span<const TensorSymbol> losses,
                       std::span<const TensorSymbol> keep, const Attempt& attempt) {
  const ForwardWay way = find_way(graph, losses, keep);
  Copies copies(graph, way);
  CheckpointReport report;
  report.forward_nodes = way.nodes.size();
  report.segments = recompute(graph, way, attempt, copies);
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

/// Returns the bytes that compile() plans for the graph.
std::uint64_t compiled_bytes(const SymbolicGraph& graph, Context* context) {
  return planned_bytes(after_passes(graph, context), context);
}

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
  const std::uint64_t before = compiled_bytes(graph, options.context);
  const std::uint64_t after = compiled_bytes(trial.graph, options.context);
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

/// The attempts that the policy `budget` chooses from, of one kind after the other. Of a kind those
/// with less to compute again come first, as far as that is known.
std::vector<Attempt> attempts(const SymbolicGraph& graph, const ForwardWay& way) {
  std::vector<Attempt> all = {{.policy = CheckpointPolicy::cheap}, {}};
  for (std::size_t segments = 2; segments <= way.nodes.size(); segments += (segments + 1) / 2)
    all.push_back({.segments = segments});
  const std::size_t layers = chain_cuts(graph, way).size() + 1;
  std::vector<int> slots;
  for (std::size_t k = 1; layers > 2 && k < layers; k += (k + 1) / 2)
    slots.push_back(static_cast<int>(k));
  for (const int k : slots | std::views::reverse)
    all.push_back({.policy = CheckpointPolicy::binomial, .slots = k});
  return all;
}

std::size_t count_nodes(const SymbolicGraph& graph) {
  return static_cast<std::size_t>(std::ranges::count(graph.nodes(), false, &NodeInfo::removed));
}

/// Chooses the attempt that computes the fewest bytes again among those that fit into the budget.
/// Copies are counted before a graph is made of them: most attempts have too many, or keep more
/// than the budget.
class BudgetSearch {
 public:
  BudgetSearch(SymbolicGraph& graph, std::span<const TensorSymbol> losses,
               const CheckpointOptions& options)
      : graph_(graph),
        losses_(losses),
        options_(options),
        way_(find_way(graph, losses, options.keep)) {}

  CheckpointReport fit() {
    if (fits_as_it_is()) {
      CheckpointReport none;
      none.text = "none: it fits as it is";
      return none;
    }
    std::vector<Counted> binomial;
    for (const Attempt& attempt : attempts(graph_, way_)) {
      Counted counted{.attempt = attempt};
      if (attempt.policy == CheckpointPolicy::binomial)
        binomial.push_back(counted);
      else if (count(counted))
        counted_.push_back(counted);
    }
    std::ranges::stable_sort(counted_, {}, &Counted::copied);
    for (Counted& counted : counted_)
      if (counted.kept <= options_.budget) make(counted);
    // Fewer slots mean more copies: those that are more than what fits already are not counted.
    if (!binomial.empty()) find_least_of_slots();
    for (Counted& counted : binomial) {
      if (!may_fit(counted.attempt.slots) || !count(counted)) continue;
      counted_.push_back(counted);
      if (counted.kept <= options_.budget) make(counted_.back());
    }
    // The peak may be less than the sum of what is kept, since not all of it need be alive at once;
    // and what is kept is counted before passes, of which some make one value of several.
    for (std::size_t k = 0; k < counted_.size() && !best_; ++k) {
      Counted& counted = counted_[k];
      const bool may_be_less =
          counted.kept < least_ ||
          (passes_change_ && counted.attempt.policy != CheckpointPolicy::binomial);
      if (!counted.is_made && may_be_less) make(counted);
    }
    if (!best_) fail_budget(least_, "");
    return apply(graph_, losses_, options_.keep, *best_);
  }

 private:
  /// An attempt, the bytes that its copies read and write, and those of values that it keeps.
  struct Counted {
    Attempt attempt;
    std::size_t copied = 0, kept = 0;
    bool is_made = false;
  };

  /// Throws StatusError if no checkpoint can be within the budget.
  bool fits_as_it_is() {
    const SymbolicGraph passed = after_passes(graph_, options_.context);
    passes_change_ = count_nodes(passed) != count_nodes(graph_);
    least_ = planned_bytes(passed, options_.context);
    if (least_ <= options_.budget) return true;
    if (const std::uint64_t least = least_bytes(passed); least > options_.budget)
      fail_budget(least, " whatever is computed again");
    return false;
  }

  [[noreturn]] void fail_budget(std::uint64_t least, const char* why) const {
    fail_graph("checkpoint: " + graph_.name() + " needs at least " + std::to_string(least) +
                   " bytes" + why + ", the budget is " + std::to_string(options_.budget),
               MOTE_OUT_OF_MEMORY);
  }

  /// Plans a binomial attempt with few copies, to know what others need, if that follows: on a long
  /// chain whose layers are alike.
  void find_least_of_slots() {
    const Cuts cuts = chain_cuts(graph_, way_);
    const ChainLayers layers = chain_layers(graph_, way_, cuts);
    slots_ = static_cast<std::size_t>(std::bit_width(cuts.size()));
    if (!layers.are_even || cuts.size() < slots_ * slots_) return;
    state_bytes_ = layers.most_bytes;
    bytes_of_slots_ =
        bytes_of({.policy = CheckpointPolicy::binomial, .slots = static_cast<int>(slots_)});
  }
  /// False if an attempt with so many slots surely needs more: each that there is less frees a
  /// state.
  bool may_fit(int slots) {
    const std::size_t fewer = slots_ - std::min(slots_, static_cast<std::size_t>(slots));
    const std::uint64_t least =
        bytes_of_slots_ - std::min<std::uint64_t>(bytes_of_slots_, fewer * state_bytes_);
    if (least <= options_.budget) return true;
    least_ = std::min(least_, least);
    return false;
  }

  /// Returns the bytes that compile() plans for the graph of the attempt.
  std::uint64_t bytes_of(const Attempt& attempt) const {
    return compiled_bytes(Trial(graph_, losses_, options_.keep, attempt).graph, options_.context);
  }

  /// False if it has more copies than what fits already, or none: then it leaves the graph as it
  /// is, which does not fit.
  bool count(Counted& counted) const {
    Copies copies(graph_, way_);
    copies.only_count(best_ ? copied_of_best_ : std::numeric_limits<std::size_t>::max());
    recompute(graph_, way_, counted.attempt, copies);
    counted.copied = copies.bytes();
    counted.kept = copies.kept_bytes();
    return !copies.is_over() && copies.count() > 0;
  }

  /// Makes the graph of the attempt, which is the best one from then on if it fits and is better.
  void make(Counted& counted) {
    if (best_ && counted.copied > copied_of_best_) return;
    counted.is_made = true;
    const std::uint64_t bytes = bytes_of(counted.attempt);
    least_ = std::min(least_, bytes);
    if (bytes > options_.budget) return;
    if (best_ && counted.copied == copied_of_best_ && bytes >= bytes_of_best_) return;
    best_ = counted.attempt;
    copied_of_best_ = counted.copied;
    bytes_of_best_ = bytes;
  }

  SymbolicGraph& graph_;
  std::span<const TensorSymbol> losses_;
  const CheckpointOptions& options_;
  ForwardWay way_;
  std::vector<Counted> counted_;
  bool passes_change_ = false;  ///< the number of nodes
  std::uint64_t least_ = 0;
  std::size_t slots_ = 0;             ///< of the binomial attempt that was planned
  std::uint64_t bytes_of_slots_ = 0;  ///< what it needs; 0: none was planned
  std::size_t state_bytes_ = 0;       ///< of a state of the chain
  std::optional<Attempt> best_;
  std::size_t copied_of_best_ = 0;
  std::uint64_t bytes_of_best_ = 0;
};

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
    if (options.policy == CheckpointPolicy::budget)
      return BudgetSearch(graph, losses, options).fit();
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
