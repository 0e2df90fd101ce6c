// SPDX-License-Identifier: Apache-2.0
// The driver of passes: a graph and names -> the order in which passes run, their reports, and
// which attributes may still be read.
#include <algorithm>
#include <set>
#include <vector>

#include "borrow.h"
#include "dependency_cache.h"
#include "fail.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"
#include "passes/registered.h"

namespace mote {

class PassDriver {
 public:
  PassDriver(SymbolicGraph& graph, std::span<const std::string> names, const PassOptions& options)
      : graph_(graph), options_(options) {
    for (const std::string& name : names) passes_.push_back(&find_pass(name));
  }

  std::vector<PassReport> apply() {
    for (const PassDefinition* pass : passes_) check(*pass);
    if (options_.verify) verify_as("before the passes");
    for (const PassDefinition* pass : passes_) {
      // A pass that has run because another one required it is not run again in its own place.
      const auto early = std::ranges::find(early_, pass);
      if (early != early_.end() && provides_now(*pass))
        early_.erase(early);
      else
        run_with_required(*pass);
    }
    return std::move(reports_);
  }

 private:
  bool is_there(const std::string& attribute) const {
    return std::as_const(graph_).attributes().has(attribute);
  }
  bool provides_now(const PassDefinition& pass) const {
    return std::ranges::all_of(pass.provided,
                               [&](const std::string& name) { return is_there(name); });
  }
  /// Returns the pass of the list that provides the attribute; null if none does.
  const PassDefinition* provider(const std::string& attribute) const {
    for (const PassDefinition* pass : passes_)
      if (std::ranges::find(pass->provided, attribute) != pass->provided.end()) return pass;
    return nullptr;
  }

  [[noreturn]] void fail_missing(const PassDefinition& pass, const std::string& attribute) const {
    std::string names;
    for (const std::string& name : providers_of(attribute))
      names += (names.empty() ? "" : " or ") + name;
    fail_graph("the pass " + pass.name + " requires the attribute " + attribute + " of " +
               graph_.name() +
               (names.empty() ? ", which no registered pass provides"
                              : ", which the pass " + names + " provides: apply it too"));
  }

  /// Checks that what the pass requires is there or is provided, without a circle.
  void check(const PassDefinition& pass) {
    if (checked_.contains(&pass)) return;
    if (std::ranges::find(open_, &pass) != open_.end()) {
      std::string circle;
      for (auto at = std::ranges::find(open_, &pass); at != open_.end(); ++at)
        circle += (*at)->name + " -> ";
      fail_graph("passes require each other: " + circle + pass.name);
    }
    open_.push_back(&pass);
    for (const std::string& attribute : pass.required) {
      if (const PassDefinition* other = provider(attribute))
        check(*other);
      else if (!is_there(attribute))
        fail_missing(pass, attribute);
    }
    open_.pop_back();
    checked_.insert(&pass);
  }

  void run_with_required(const PassDefinition& pass) {
    // Each provider may change the structure, so that what an earlier one provided is out of date.
    for (std::size_t round = 0; round <= pass.required.size(); ++round)
      for (const std::string& attribute : pass.required) {
        if (is_there(attribute)) continue;
        const PassDefinition* other = provider(attribute);
        if (other == nullptr || round == pass.required.size()) fail_missing(pass, attribute);
        run_with_required(*other);
        early_.push_back(other);
      }
    run(pass);
  }

  void run(const PassDefinition& pass) {
    const std::uint64_t version = graph_.version();
    std::vector<std::string> kept;
    for (const std::string& name : pass.kept)
      if (is_there(name)) kept.push_back(name);
    PassReport report{pass.name, false, ""};
    try {
      // What finds something of a graph, or needs what was found, is asked for one graph.
      const bool goes_inside = pass.required.empty() && pass.provided.empty();
      const std::size_t inside = goes_inside ? run_inside(graph_, pass) : 0;
      report.text = pass.run(graph_, options_);
      if (inside > 0)
        report.text += (report.text.empty() ? "" : ", ") + std::to_string(inside) +
                       (inside == 1 ? " graph" : " graphs") + " inside changed";
    } catch (const StatusError& e) {
      throw StatusError(e.status(), "the pass " + pass.name + ": " + e.what());
    }
    report.changed = graph_.version() != version;
    report.text = pass.name + ": " + (report.text.empty() ? "nothing" : report.text);
    for (const std::string& name : kept) graph_.attributes().keep(name);
    if (options_.verify) verify_as("after the pass " + pass.name);
    for (const std::string& name : pass.provided)
      if (!is_there(name))
        fail_graph("the pass " + pass.name + " provides the attribute " + name +
                   ", but has not set it for the structure that it left");
    reports_.push_back(std::move(report));
  }

  /// Runs the pass on the graphs of loops and branches, the innermost first. Returns how many it
  /// changed.
  std::size_t run_inside(SymbolicGraph& graph, const PassDefinition& pass) {
    std::size_t count = 0;
    const auto nodes = detail::node_table(graph);  // the loop changes the graph
    for (const std::uint32_t k : nodes->controls()) {
      std::shared_ptr<ControlInfo> changed;
      const std::shared_ptr<const ControlInfo> control = graph.nodes()[k].control;
      for (std::size_t g = 0; g < control->graphs.size(); ++g) {
        SymbolicGraph sub(control->graphs[g]);
        const std::uint64_t version = sub.version();
        count += run_inside(sub, pass);
        if (!pass.run(sub, options_).empty()) ++count;
        if (sub.version() == version) continue;
        if (changed == nullptr) changed = std::make_shared<ControlInfo>(*control);
        changed->graphs[g] = std::move(sub);
      }
      if (changed != nullptr) graph.set_control(graph.node_at(k), std::move(changed));
    }
    return count;
  }

  void verify_as(const std::string& when) const {
    try {
      verify(graph_);
    } catch (const StatusError& e) {
      throw StatusError(e.status(), when + ": " + e.what());
    }
  }

  SymbolicGraph& graph_;
  const PassOptions& options_;
  std::vector<const PassDefinition*> passes_;
  std::vector<const PassDefinition*> open_;
  std::set<const PassDefinition*> checked_;
  std::vector<const PassDefinition*> early_;
  std::vector<PassReport> reports_;
};

std::vector<PassReport> apply_passes_here(SymbolicGraph& graph, std::span<const std::string> names,
                                          const PassOptions& options) {
  return PassDriver(graph, names, options).apply();
}

std::vector<PassReport> apply_passes(SymbolicGraph& graph, std::span<const std::string> names,
                                     const PassOptions& options) {
  return detail::change_whole(graph, [&] { return apply_passes_here(graph, names, options); });
}

}  // namespace mote
