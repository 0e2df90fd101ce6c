// SPDX-License-Identifier: Apache-2.0
// Gradients: the part of the trace between what is differentiated and with respect to what, as a
// symbolic graph, its gradient, and of that what has to be computed: values of the way forward that
// have memory, or will have it, are inputs.
#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "fail.h"
#include "gradient/gradient_here.h"
#include "gradient/tape.h"
#include "mote/symbolic/control.h"
#include "part.h"
#include "state.h"

namespace mote::trace {
namespace {

/// Marks a part that is differentiated.
constexpr std::uint64_t kDifferentiated = 1;

/// True if the value has memory, or will have it. What a checkpoint dropped will have none, unless
/// a variable has it.
bool is_available(const Value& value) {
  if (value.tensor != nullptr) return true;
  return value.producer && value.producer->is_pending && (!value.is_dropped || value.handles > 0);
}

/// Finds the traced steps that lie between the values.
class Between {
 public:
  Between(State& state, std::span<Value* const> of, std::span<Value* const> wrt)
      : state_(state), of_(of), wrt_(wrt) {}

  /// Returns the steps that depend on one of `wrt`, and that `of` depends on.
  std::vector<Step*> run() {
    const std::uint64_t reached = ++state_.last_walk;
    std::uint64_t first = ~std::uint64_t{0};
    for (const Value* value : wrt_) first = std::min(first, value->id);
    for (Value* value : of_) reach(*value, first, reached);
    for (std::size_t k = 0; k < steps_.size(); ++k)
      for (Value* input : steps_[k]->inputs)
        if (input != nullptr) reach(*input, first, reached);
    std::ranges::reverse(steps_);  // those of a chain are in order now
    sort_by_id(steps_);
    const std::uint64_t depending = ++state_.last_walk;
    for (Value* value : wrt_) value->walk = depending;
    std::erase_if(steps_, [&](Step* step) {
      const bool depends = std::ranges::any_of(step->inputs, [&](const Value* input) {
        return input != nullptr && input->is_traced && input->walk == depending;
      });
      if (depends)
        for (Value* output : step->outputs)
          if (output != nullptr) output->walk = depending;
      return !depends;
    });
    return std::move(steps_);
  }

 private:
  /// A step that was made before all of `wrt` does not depend on them.
  void reach(Value& value, std::uint64_t first, std::uint64_t walk) {
    Step* const source = value.producer ? value.producer.get() : value.hidden_by;
    if (!value.is_traced || source == nullptr) return;
    Step& step = *source;
    if (step.id < first || step.walk == walk || !step.is_traced) return;
    step.walk = walk;
    steps_.push_back(&step);
  }

  State& state_;
  std::span<Value* const> of_;
  std::span<Value* const> wrt_;
  std::vector<Step*> steps_;
};

/// Returns the steps, and those that compute what they read and what was dropped.
std::vector<Step*> with_dropped(State& state, std::vector<Step*> steps) {
  const std::uint64_t walk = ++state.last_walk;
  for (Step* step : steps) step->walk = walk;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    for (const Value* input : steps[k]->inputs) {
      if (input == nullptr || is_available(*input) || !input->producer) continue;
      if (std::exchange(input->producer->walk, walk) != walk) steps.push_back(&*input->producer);
    }
  }
  return steps;
}

/// Returns the values that are in both lists: the gradient of one with respect to itself is 1.
std::vector<Value*> in_both(std::span<Value* const> of, std::span<Value* const> wrt) {
  std::vector<Value*> both;
  std::ranges::copy_if(of, std::back_inserter(both), [&](const Value* value) {
    return std::ranges::find(wrt, value) != wrt.end();
  });
  return both;
}

/// Returns a number that stands for what loops in the graph push to tapes, and when; 0: nothing.
std::size_t pushed_values(const SymbolicGraph& graph) {
  std::size_t hash = 0;
  const auto add = [&](std::size_t number) { hash = hash * 1000003 + number + 1; };
  for (const NodeInfo& node : graph.nodes())
    if (!node.removed && node.kind == NodeKind::control)
      for (const SymbolicGraph& inside : node.control->graphs)
        if (const std::size_t pushed = pushed_values(inside)) add(pushed);
  if (const std::optional<std::uint32_t> push = push_of(graph)) {
    add(graph.nodes()[*push].inputs.size());
    for (const KeptIf& rule : rules_of(graph.nodes()[*push]))
      for (const std::uint32_t number : {rule.value, rule.decision, rule.branch}) add(number);
  }
  return hash;
}

/// Returns for each node of the way forward a number that stands for what it pushes to tapes.
std::vector<std::size_t> values_on_tapes(const PartGraph& part) {
  std::vector<std::size_t> counts;
  if (!part.has_graphs) return counts;
  counts.resize(part.nodes);
  for (std::size_t k = 0; k < part.nodes; ++k)
    if (const NodeInfo& node = part.graph.nodes()[k];
        !node.removed && node.kind == NodeKind::control)
      for (const SymbolicGraph& inside : node.control->graphs) counts[k] += pushed_values(inside);
  return counts;
}

/// True if a loop that had a tape pushes other values than it did, or at other times.
bool needs_more(const std::vector<std::size_t>& before, const std::vector<std::size_t>& now) {
  for (std::size_t k = 0; k < before.size(); ++k)
    if (before[k] > 0 && now[k] != before[k]) return true;
  return false;
}

class Differentiation {
 public:
  Differentiation(State& state, std::span<Value* const> of, std::span<Value* const> wrt,
                  std::span<Value* const> seeds)
      : state_(state),
        part_(number_values(state, with_dropped(state, Between(state, of, wrt).run()),
                            in_both(of, wrt))),
        of_(of),
        wrt_(wrt),
        seeds_(seeds) {
    given_.resize(part_.values.size());
    for (std::size_t k = 1; k < part_.values.size(); ++k)
      given_[k] =
          part_.is_leaf[k] || (part_.values[k] != nullptr && is_available(*part_.values[k]));
  }

  Results run(Lock& lock, bool is_traced) {
    CachedGraph& cached = graph();
    const std::shared_ptr<GraphWork> work = cached.work;
    state_.computed_again += cached.again;
    const std::vector<Ref<Value>> owned = inputs_of(state_, cached, part_, seeds_);
    std::vector<Value*> inputs;
    for (const Ref<Value>& input : owned) inputs.push_back(input.get());
    return state_.run_graph(lock, work, inputs, is_traced && state_.traces(inputs));
  }

 private:
  CachedGraph& graph() {
    Structure structure = part_.structure;
    structure.push_back(kDifferentiated);
    structure.push_back(of_.size());
    for (const auto* values : {&of_, &wrt_}) {
      for (const Value* value : *values) {
        structure.push_back(number_of(state_, *value));
        structure.push_back(value->form->id);
      }
    }
    for (const Value* seed : seeds_) structure.push_back(seed == nullptr ? 0 : seed->form->id);
    // A bit for each value says whether it is given.
    for (std::size_t k = 0; k < given_.size(); k += 64) {
      std::uint64_t bits = 0;
      for (std::size_t b = k; b < std::min(k + 64, given_.size()); ++b)
        bits |= static_cast<std::uint64_t>(given_[b]) << (b - k);
      structure.push_back(bits);
    }
    if (CachedGraph* known = state_.graphs.find(structure)) return *known;
    CachedGraph made = differentiate();
    made.named = functions_of(part_);
    return state_.graphs.add(std::move(structure), std::move(made));
  }

  CachedGraph differentiate() {
    // With respect to a view means: with respect to a tensor of its own, which others that read
    // what it is a view of do not read. Outputs of one graph do not depend on each other either.
    PartGraph all = symbolic(part_, wrt_);
    SymbolicGraph& graph = all.graph;
    std::vector<TensorSymbol> of, seeds, wrt;
    for (std::size_t k = 0; k < of_.size(); ++k) {
      const std::uint32_t number = number_of(state_, *of_[k]);
      if (seeds_[k] != nullptr)
        all.symbols.push_back(graph.input("seed" + std::to_string(k), seeds_[k]->form->form));
      const TensorSymbol seed = seeds_[k] != nullptr ? all.symbols.back() : TensorSymbol{};
      if (seeds_[k] == nullptr) all.symbols.emplace_back();
      if (number == 0) continue;
      of.push_back(all.symbols[number]);
      seeds.push_back(seed ? seed : ones(graph, of_[k]->form->form));
    }
    for (const Value* value : wrt_)
      if (const std::uint32_t number = number_of(state_, *value))
        wrt.push_back(all.symbols[number]);
    std::vector<TensorSymbol> gradients;
    const std::vector<std::size_t> on_tapes = values_on_tapes(all);
    if (!of.empty() && !wrt.empty()) gradients = gradient_here(graph, of, wrt, seeds);
    std::vector<TensorSymbol> outputs;
    std::size_t next = 0;
    for (const Value* value : wrt_) {
      if (number_of(state_, *value) != 0 && !gradients.empty())
        outputs.push_back(gradients[next++]);
      else
        outputs.push_back(graph.zeros(row_major(value->form->form)));
    }
    std::vector<bool> given = given_;
    given.resize(all.symbols.size(), true);
    if (needs_more(on_tapes, values_on_tapes(all))) run_loops_again(given);
    return cut(all, given, outputs);
  }

  /// Makes the way back have tapes of its own, since those that were kept lack values.
  void run_loops_again(std::vector<bool>& given) const {
    for (const Step* step : part_.steps) {
      const auto* work = std::get_if<std::shared_ptr<GraphWork>>(&step->work);
      if (work == nullptr || !(*work)->has_tape) continue;
      for (const Ref<Value>& output : step->hidden)
        if (const std::uint32_t number = number_of(state_, *output)) given[number] = false;
    }
  }

  static TensorForm row_major(const TensorForm& form) {
    return {form.dtype, form.shape, checked_strides(form.dtype, form.shape), form.device};
  }
  static TensorSymbol ones(SymbolicGraph& graph, const TensorForm& form) {
    const Tensor one(form.dtype, {});
    fill(one, 1);
    return graph.broadcast_to(graph.constant("", one), form.shape);
  }

  State& state_;
  Part part_;
  std::span<Value* const> of_;
  std::span<Value* const> wrt_;
  std::span<Value* const> seeds_;
  std::vector<bool> given_;  ///< by number: it is not computed again
};

}  // namespace

Results State::backward(Lock& lock, std::span<Value* const> of, std::span<Value* const> wrt,
                        std::span<Value* const> seeds, bool is_traced) {
  return Differentiation(*this, of, wrt, seeds).run(lock, is_traced);
}

bool State::depends(Value& y, Value& x) {
  if (&x == &y) return x.is_traced;
  Value* const of = &y;
  Value* const wrt = &x;
  Between(*this, std::span(&of, 1), std::span(&wrt, 1)).run();
  return y.walk == last_walk;
}

}  // namespace mote::trace
