// SPDX-License-Identifier: Apache-2.0
#include "graph_session.h"

#include <chrono>

#include "graph_features.h"
#include "mote/symbolic/dependencies.h"
#include "random_graph.h"

namespace mote::test {
namespace {

constexpr const char* kError = "error: ";

/// The random graph of the seed; of every third one, with a gradient if it has one.
SymbolicGraph graph_of(std::uint64_t seed, Counts& counts) {
  SymbolicGraph graph = random_graph(seed);
  count_features(graph, counts);
  if (seed % 3 != 0) return graph;
  std::optional<SymbolicGraph> with = with_gradient(graph, seed);
  if (!with) return graph;
  ++counts["graph with its gradient"];
  return *std::move(with);
}

class SeedCheck {
 public:
  SeedCheck(std::uint64_t seed, Counts& counts, LegSeconds& seconds)
      : seed_(seed), counts_(counts), seconds_(seconds) {}

  std::optional<GraphFailure> run() {
    const SymbolicGraph graph = graph_of(seed_, counts_);
    if (!check(graph, some_data(seed_), legs_for(seed_))) return failure_;
    check(random_exact_graph(seed_), {FillName::integer, seed_}, exact_legs_for(seed_));
    return failure_;
  }

 private:
  bool check(const SymbolicGraph& graph, const GraphData& data,
             const std::vector<std::string>& legs) {
    counts_["nodes"] += static_cast<std::int64_t>(graph.node_count());
    std::string leg = "legal";
    try {
      verify(graph);
      const GraphSubject subject(graph, data);
      for (const std::string& next : legs) {
        leg = next;
        const auto start = std::chrono::steady_clock::now();
        const auto what = difference_or_error(subject, leg, counts_);
        seconds_[leg.substr(0, leg.find(' '))] +=
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (!what) continue;
        failure_ = GraphFailure{subject.graph(), data, leg, *what};
        return false;
      }
    } catch (const std::exception& e) {
      failure_ = GraphFailure{graph, data, leg, kError + std::string(e.what())};
      return false;
    }
    return true;
  }

  std::uint64_t seed_;
  Counts& counts_;
  LegSeconds& seconds_;
  std::optional<GraphFailure> failure_;
};

}  // namespace

std::optional<GraphFailure> check_seed(std::uint64_t seed, Counts& counts, LegSeconds& seconds) {
  return SeedCheck(seed, counts, seconds).run();
}

std::optional<std::string> difference_or_error(const GraphSubject& subject, const std::string& leg,
                                               Counts& counts) {
  try {
    return check_leg(subject, leg, counts);
  } catch (const std::exception& e) {
    return kError + std::string(e.what());
  }
}

GraphFailure shrunk(const GraphFailure& failure) {
  const bool is_error = failure.what.starts_with(kError);
  Counts ignored;
  return shrink(failure, [&](const SymbolicGraph& graph, const GraphData& data) {
    std::optional<std::string> what;
    if (failure.leg == "legal") {
      try {
        GraphSubject(graph, data);
      } catch (const std::exception& e) {
        what = kError + std::string(e.what());
      }
      return what;
    }
    what = difference_or_error(GraphSubject(graph, data), failure.leg, ignored);
    return what && what->starts_with(kError) == is_error ? what : std::nullopt;
  });
}

}  // namespace mote::test
