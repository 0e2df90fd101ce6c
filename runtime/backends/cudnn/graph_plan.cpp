// SPDX-License-Identifier: Apache-2.0
// Turns a graph into a plan: engines that the heuristic offers, plans, and a cache of plans.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>

#include "graph.h"

namespace mote::cudnn {

Descriptor Graph::operation_graph(const Target& target) const {
  Descriptor graph(descriptor::kGraph);
  if (target.handle != nullptr) graph.set(attribute::kGraphHandle, of::kHandle, 1, &target.handle);
  return graph.link(attribute::kGraphOperations, operations_).finalize();
}

namespace {

constexpr int kMaxConfigurations = 16;

/// True if an engine with that note keeps the kind's contract.
bool is_allowed(int note, Kind kind) {
  return note == kStrictNan || (note == kTensorCore && nvidia::is_narrow(kind));
}

/// Finalizes it; returns false if cuDNN has no result in this mode.
bool is_supported(Descriptor& heuristic) {
  try {
    heuristic.finalize();
    return true;
  } catch (const cuda::LibraryError& e) {
    if (e.kind() != cuda::Failure::unsupported) throw;
    return false;
  }
}

}  // namespace

std::vector<Descriptor> Graph::configurations(const Target& target, Kind kind) const {
  const Descriptor graph = operation_graph(target);
  std::vector<Descriptor> all;
  for (const int mode : {kHeuristicA, kHeuristicLast}) {
    Descriptor heuristic(descriptor::kHeuristic);
    heuristic.link(attribute::kHeuristicGraph, graph)
        .choose(attribute::kHeuristicMode, of::kHeuristicMode, mode);
    if (target.device) heuristic.link(attribute::kHeuristicDevice, *target.device);
    if (!is_supported(heuristic)) continue;
    for (const Descriptor& config : heuristic.made_by_library(
             attribute::kHeuristicResults, descriptor::kEngineConfig, kMaxConfigurations)) {
      const auto engine = config.made_by_library(attribute::kConfigEngine, descriptor::kEngine, 1);
      if (engine.empty()) continue;
      if (std::ranges::all_of(
              engine[0].chosen(attribute::kEngineNotes, of::kNumericalNote, kMaxNotes),
              [&](int note) { return is_allowed(note, kind); }))
        all.push_back(config);
    }
  }
  return all;
}

namespace {

/// A plan, and the configuration that it was made of.
struct Plan {
  Descriptor plan, config;
};

/// Plans of graphs by their text. A plan is used with the handle that it was made with, and so by
/// one call at a time.
class Plans {
 public:
  std::optional<Plan> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto at = plans_.find(key);
    return at == plans_.end() ? std::nullopt : std::optional(at->second);
  }
  void keep(const std::string& key, const Plan& plan) {
    constexpr std::size_t kMaxPlans = 512;
    const std::lock_guard lock(mutex_);
    if (plans_.size() >= kMaxPlans) plans_.clear();
    plans_.emplace(key, plan);
  }
  static Plans& all() {
    static Plans& only = *new Plans();  // never destroyed: the library may be unloaded before
    return only;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Plan> plans_;
};

/// Returns a plan for the configuration; none if cuDNN cannot make one or it needs too much
/// workspace.
std::optional<Plan> plan_of(const Descriptor& config, Handle* handle) {
  try {
    Descriptor plan(descriptor::kPlan);
    plan.set(attribute::kPlanHandle, of::kHandle, 1, &handle)
        .link(attribute::kPlanConfig, config)
        .finalize();
    const auto bytes = static_cast<std::size_t>(plan.integer(attribute::kPlanWorkspace));
    return bytes <= kMaxWorkspaceBytes ? std::optional(Plan{plan, config}) : std::nullopt;
  } catch (const cuda::LibraryError& e) {
    if (e.kind() != cuda::Failure::unsupported) throw;
    return std::nullopt;
  }
}

}  // namespace

bool Graph::may_lie_at(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % kAlignment == 0;
}

Step Graph::step(Handle* handle, Kind kind) const {
  const std::string key =
      fmt::format("{} {}\n{}", static_cast<const void*>(handle), static_cast<int>(kind), text_);
  std::optional<Plan> found = Plans::all().find(key);
  if (!found) {
    for (const Descriptor& config : configurations({.handle = handle}, kind))
      if ((found = plan_of(config, handle))) break;
    if (!found) decline("cuDNN has no engine for this graph that keeps the contract");
    Plans::all().keep(key, *found);
  }
  const auto own =
      aligned(static_cast<std::size_t>(found->plan.integer(attribute::kPlanWorkspace)));
  const auto run = [made = *found, ids = ids_, locations = locations_, own](Handle* by,
                                                                            const OnDevice& at) {
    std::vector<float> values;
    values.reserve(locations.size());
    std::vector<void*> pointers;
    for (const Location& p : locations) {
      if (p.in == Location::In::host) {
        pointers.push_back(&values.emplace_back(p.value));
        continue;
      }
      pointers.push_back(p.in == Location::In::call
                             ? at.data.at(p.at)
                             : static_cast<char*>(at.workspace) + own + p.at);
      if (!may_lie_at(pointers.back())) decline("the address of a tensor is no multiple of 16");
    }
    Descriptor pack(descriptor::kVariantPack);
    pack.integers(attribute::kPackIds, ids)
        .set(attribute::kPackPointers, of::kPointer, static_cast<std::int64_t>(pointers.size()),
             pointers.data())
        .set(attribute::kPackWorkspace, of::kPointer, 1, &at.workspace)
        .finalize();
    calls().execute(by, made.plan.get(), pack.get());
  };
  return {own + stored_bytes_, run};
}

}  // namespace mote::cudnn
