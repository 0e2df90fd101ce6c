// SPDX-License-Identifier: Apache-2.0
// Prepares the bodies of loops and the branches of case..of, those around others first: each is a
// graph whose placeholders have the memory of tensors around it.
#include <algorithm>
#include <string>

#include "control/runner.h"
#include "state.h"

namespace mote::graph {

bool has_control(const Graph::State& state) {
  return !state.prepared.subs.empty() || !state.prepared.variables.roots.empty();
}

std::shared_ptr<Plan> serial_plan(const Plan& plan) {
  auto serial = std::make_shared<Plan>();
  serial->nodes = plan.nodes;
  serial->is_loop = true;
  serial->placeholders = plan.placeholders;
  StreamSchedule& s = serial->schedule;
  s.order = plan.schedule.order;
  s.stream.assign(s.order.size(), 0);
  s.position.resize(s.order.size());
  for (std::uint32_t k = 0; k < s.order.size(); ++k) s.position[s.order[k]] = k;
  s.wait_begin.assign(s.order.size() + 1, 0);
  serial->devices.resize(1);
  if (!s.order.empty()) s.devices.assign(1, 0);
  std::vector<Step> by_node(plan.steps.size());
  for (const Step& step : plan.steps) by_node[step.local] = step;
  for (const std::uint32_t k : s.order) serial->steps.push_back(by_node[k]);
  find_controls(*serial);
  return serial;
}

void find_controls(Plan& plan) {
  for (std::uint32_t k = 0; k < plan.steps.size(); ++k) {
    const NodeRecord& node = plan.steps[k].operation->node();
    plan.has_functions = plan.has_functions || std::holds_alternative<FunctionNode>(node.work);
    if (control_of(node) == nullptr) continue;
    plan.has_controls = true;
    if (plan.is_loop) plan.controls.push_back(k);
  }
}

namespace {

std::string path_to(const Graph::State& state, const SubLocation& location) {
  return text_of(location.around->nodes[location.node]) +
         (location.around == &state ? "" : " of a sub-graph");
}

/// Gives the placeholders the memory around them. Returns whether some have other memory than
/// before.
bool follow_links(const SubLocation& location) {
  bool has_changed = false;
  for (const Link& link : location.sub->links) {
    const TensorRecord& outer = location.around->tensors[link.outer];
    const TensorRecord& inner = location.state->tensors[link.inner];
    if (inner.has_memory == outer.has_memory && inner.data == outer.data) continue;
    point_tensor(*location.state, link.inner, outer);
    location.state->rebound.push_back(link.inner);
    has_changed = true;
  }
  if (!has_changed) return false;
  ++location.state->binding;
  location.state->prepared.variables.is_stale = true;
  return true;
}

void make_plans(Graph::State& state, const ControlWork& work) {
  PreparedGraph& p = state.prepared;
  SubPlans& plans = p.sub_plans;
  plans = {};
  if (!work.is_loop) {
    plans.first = p.whole;
  } else {
    PartRecord evaluated;
    evaluated.destinations = work.evaluated;
    std::vector<std::uint32_t> first;
    if (!work.evaluated.empty()) first = nodes_of(state, evaluated);
    std::vector<std::uint32_t> rest;
    std::ranges::set_difference(p.whole->nodes, first, std::back_inserter(rest));
    if (!p.before) p.before.emplace(p.whole->schedule);
    const auto plan = [&](const std::vector<std::uint32_t>& nodes) {
      return plan_of(state, nodes, restriction(*p.whole, *p.before, nodes));
    };
    plans.first = plan(first);
    plans.rest = plan(rest);
  }
  const auto serial = [](const std::shared_ptr<Plan>& of) {
    return of == nullptr || of->is_loop ? of : serial_plan(*of);
  };
  plans.serial_first = serial(plans.first);
  plans.serial_rest = serial(plans.rest);
}

/// Finds the tensors whose memory changes, and the links that bring it in.
void find_sub_variables(const SubLocation& location) {
  std::vector<bool> is_root(location.state->tensors.size());
  std::vector<Link>& variable = location.state->prepared.variable_links;
  variable.clear();
  const std::vector<bool>& around = location.around->prepared.variables.is_root;
  for (const Link& link : location.sub->links) {
    if (!around[location.around->tensors[link.outer].root]) continue;
    is_root[link.inner] = true;
    variable.push_back(link);
  }
  find_variables(*location.state, std::move(is_root));
}

/// Points choices where they are first, so that kernels can be chosen.
void point_choices(Graph::State& state) {
  for (std::uint32_t t = 0; state.rare.choices && t < state.tensors.size(); ++t) {
    const ChoiceRecord* choice = state.tensors[t].choice.get();
    if (choice != nullptr) point_tensor(state, t, state.tensors[choice->at(0)]);
  }
}

/// Throws unless each clock that is asked for has a loop that starts it, and each pointer something
/// that moves it.
void check_clocks(const Graph::State& state) {
  const auto check = [&](std::uint64_t clock, const auto& text) {
    if (clock != 0 && !state.prepared.clocks->contains(clock))
      refuse(text() + " asks for clock " + std::to_string(clock) + ", which no loop starts");
  };
  for (std::uint32_t t = 0; state.rare.choices && t < state.tensors.size(); ++t)
    if (const auto& choice = state.tensors[t].choice) {
      check(choice->clock, [&] { return state.text_of_tensor(t); });
      if (choice->pointer != 0 && !state.prepared.pointers->contains(choice->pointer))
        refuse(state.text_of_tensor(t) + " asks for pointer " + std::to_string(choice->pointer) +
               ", which no loop and no case..of moves");
    }
  if (!state.rare.controls) return;
  for (const NodeRecord& node : state.nodes)
    if (const ControlWork* work = node.removed ? nullptr : control_of(node))
      for (const std::vector<std::uint64_t>& clocks : work->counts)
        for (const std::uint64_t clock : clocks) check(clock, [&] { return text_of(node); });
}

/// Throws unless each region that the sub-graph may take holds what is where its pointer shows, and
/// each pointer that is held is moved by something.
void check_takes(const SubLocation& location, const ControlWork& work) {
  const auto g = static_cast<std::size_t>(location.sub - work.subs.data());
  if (g >= work.takes.size()) return;
  const Graph::State& state = *location.state;
  for (const TakeRecord& take : work.takes[g]) {
    const auto refuse_take = [&](const std::string& why) {
      refuse("pointer " + std::to_string(take.pointer) + " takes regions " + why);
    };
    for (const std::uint64_t held : take.held)
      if (!state.prepared.pointers->contains(held))
        refuse_take("that pointer " + std::to_string(held) +
                    " does not show, which no loop and no case..of moves");
    if (take.begin < 0) refuse_take("from byte " + std::to_string(take.begin) + " on");
    for (std::uint32_t t = 0; t < state.tensors.size(); ++t) {
      const TensorRecord& record = state.tensors[t];
      if (record.choice == nullptr || record.choice->pointer != take.pointer) continue;
      const auto needed = take.begin + static_cast<std::int64_t>(record.form->form.bytes());
      for (const std::uint32_t region : take.regions)
        if (const std::int64_t bytes = state.tensors[region].form->form.element_count();
            bytes < needed)
          refuse_take("of " + std::to_string(bytes) + " bytes, " + state.text_of_tensor(t) +
                      " needs " + std::to_string(needed));
    }
  }
}

}  // namespace

void prepare_sub_graphs(Graph::State& state) {
  PreparedGraph& p = state.prepared;
  p.subs = sub_graphs_of(state);
  p.runner.reset();
  find_variables(state, {});
  p.results.assign(state.nodes.size(), kUnknownResult);
  p.clocks = std::make_shared<Clocks>();
  p.pointers = std::make_shared<Pointers>();
  p.moved.clear();
  for (const SubLocation& location : p.subs) location.state->prepared.moved.clear();
  for (const SubLocation& location : p.subs) {
    const ControlWork& work = *control_of(location.around->nodes[location.node]);
    for (const std::uint64_t clock : work.starts) p.clocks->emplace(clock, Clock());
    location.state->prepared.clocks = p.clocks;
    location.state->prepared.pointers = p.pointers;
    for (const std::vector<TakeRecord>& takes : work.takes)
      for (const TakeRecord& take : takes) p.pointers->try_emplace(take.pointer);
    std::vector<std::uint64_t>& moved = location.around->prepared.moved;
    const auto add = [&](const std::vector<MoveRecord>& moves) {
      for (const MoveRecord& move : moves) {
        p.pointers->try_emplace(move.pointer);
        if (std::ranges::find(moved, move.pointer) == moved.end()) moved.push_back(move.pointer);
      }
    };
    std::ranges::for_each(work.moves, add);
    add(work.others);
  }
  check_clocks(state);
  for (const SubLocation& location : p.subs) {
    check_clocks(*location.state);
    check_takes(location, *control_of(location.around->nodes[location.node]));
  }
  for (const SubLocation& location : p.subs) {
    follow_links(location);
    point_choices(*location.state);
    try {
      prepare_one(*location.state, state.options, nullptr);
      find_sub_variables(location);
      location.state->prepared.results.assign(location.state->nodes.size(), kUnknownResult);
      make_plans(*location.state, *control_of(location.around->nodes[location.node]));
    } catch (const StatusError& e) {
      throw StatusError(e.status(), inside(path_to(state, location), e.what()));
    }
  }
  if (has_control(state)) p.runner = std::make_shared<Runner>(state);
}

void bind_sub_graphs(Graph::State& state) {
  state.prepared.variables.is_stale = true;
  for (const SubLocation& location : state.prepared.subs)
    if (follow_links(location)) apply_bindings(*location.state);
}

std::string inside(const std::string& where, const std::string& error) {
  constexpr std::string_view kSubject = "graph: ";
  return std::string(kSubject) + where + ": " +
         (error.starts_with(kSubject) ? error.substr(kSubject.size()) : error);
}

}  // namespace mote::graph
