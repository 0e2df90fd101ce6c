// SPDX-License-Identifier: Apache-2.0
#include "random_program.h"

#include <exception>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/random/rng.h"
#include "model.h"
#include "mote/dynamic/dynamic_graph.h"
#include "program_writes.h"

namespace mote::test {
namespace {

class Program : protected ProgramWrites {
 public:
  Program(std::uint64_t seed, DynamicGraph& g, ProgramCounts& counts)
      : ProgramWrites(seed, g, counts) {}

  /// Runs the program with the numbers and parts of this round, without the steps that are left
  /// out.
  void run(int round, const std::set<int>& left_out) {
    Rng rng(seed_), numbers(seed_ ^ static_cast<std::uint64_t>(round * 0x5151));
    // Parts, shapes and the dtype are often those of the first round, so that one of them differs
    // alone.
    const auto of_first = [&](int percent) {
      return Rng(numbers.chance(percent) ? seed_ ^ 0xf1 : numbers.next());
    };
    Rng parts = of_first(60), shapes = of_first(60), dtypes = of_first(70);
    extents_ = {2, 3};
    if (shapes.chance(40)) extents_ = {shapes.pick({1, 2, 3, 4}), shapes.pick({1, 2, 3, 4})};
    dtype_ = dtypes.pick({DType::f64, DType::f64, DType::f64, DType::f32});
    count_ = 4 + rng.below(rng.chance(70) ? 12 : 40);
    for (int k = 0; k < count_; ++k) {
      // A step depends on other steps only through the variables that they have left.
      rng_ = Rng(rng.next());
      parts_ = Rng(parts.next());
      numbers_ = Rng(numbers.next());
      if (!left_out.contains(k)) step();
    }
    rng_ = Rng(rng.next());
    for (std::size_t k = 0; k < slots_.size(); ++k)
      if (rng_.chance(50)) look(*slots_[k]);
    slots_.clear();
    last_of_.clear();
    last_wrt_.clear();
  }
  int count() const { return count_; }
  const std::string& log() const { return log_; }

 private:
  void step() {
    const int kind = rng_.below(100);
    try {
      if (kind < 10 || slots_.empty()) return leaf();
      if (kind < 40) return with_no_gradient([&] { command(); });
      if (kind < 52) return with_no_gradient([&] { view(); });
      if (kind < 68) return with_no_gradient([&] { write(); });
      if (kind < 73) return free();
      if (kind < 76) return forget();
      if (kind < 84) return look(*some());
      if (kind < 92) return backward();
      if (kind < 93) return detach();
      if (kind < 94) return random();
      if (kind < 96) return effect();
      if (kind < 98) return checkpoint();
      return in_place();
    } catch (const ModelTooLarge&) {
      // The dynamic graph was not given the steps that the model has refused.
    }
  }

  /// Asks for the gradient of what was asked last, or of other variables.
  void backward() {
    if (rng_.chance(30) && !last_of_.empty()) return backward(last_of_, last_wrt_);
    std::vector<SlotPtr> of, wrt;
    for (int k = 1 + rng_.below(2); k > 0; --k) of.push_back(some());
    for (int k = 0; k < 6 && wrt.size() < 2; ++k) {
      const SlotPtr x = some();
      // Values that are equal may be one value if equal commands are found again.
      if (present(*x)->is_traced && (!has_memo() || x->is_leaf)) wrt.push_back(x);
    }
    if (wrt.empty()) return;
    backward(of, wrt);
    last_of_ = of;
    last_wrt_ = wrt;
  }

  void backward(const std::vector<SlotPtr>& of_slots, const std::vector<SlotPtr>& wrt_slots) {
    std::vector<Model> of, seeds, wrt;
    std::vector<Variable> of_variables, wrt_variables;
    BackwardOptions options{.is_traced = rng_.chance(50)};
    const bool has_seeds = rng_.chance(40);
    std::string text;
    for (const SlotPtr& y : of_slots) {
      of.push_back(present(*y));
      of_variables.push_back(y->variable);
      const AxisList& shape = of.back()->shape;
      const std::vector<double> values = numbers(shape);
      std::vector<double> ones(values.size(), 1);
      seeds.push_back(model_leaf(shape, has_seeds ? values : ones, false));
      if (has_seeds) options.seeds.push_back(g_.constant(tensor(shape, values)));
      text += " " + name(*y);
    }
    text += " with respect to";
    for (const SlotPtr& x : wrt_slots) {
      wrt.push_back(present(*x));
      if (!wrt.back()->is_traced || (has_memo() && !x->is_leaf)) return;
      wrt_variables.push_back(x->variable);
      text += " " + name(*x);
    }
    const bool is_free = model_no_gradient;
    model_no_gradient = !options.is_traced;
    std::vector<Model> expected;
    try {
      expected = model_backward(of, seeds, wrt);
      // Each gradient is a value of its own, even if it is the seed, or that of another variable
      // too.
      for (Model& one : expected) one = model_view(one, {ViewKind::broadcast, one->shape});
    } catch (...) {
      model_no_gradient = is_free;
      throw;
    }
    model_no_gradient = is_free;
    say("backward" + std::string(options.is_traced ? "_traced" : "") + text);
    has_traced_gradients_ = has_traced_gradients_ || options.is_traced;
    if (rng_.chance(20)) return backward_into(of_variables, wrt_variables, options, expected);
    const std::vector<Variable> got = g_.backward(of_variables, wrt_variables, options);
    for (std::size_t k = 0; k < got.size(); ++k) {
      add(got[k], expected[k], false);
      if (!options.is_traced && got[k].is_traced()) throw Difference{"a gradient is traced"};
      // All gradients of a call are traced if one is; and of what is overwritten they are known to
      // be 0.
      const bool is_traced = got[k].is_traced();
      if (is_traced != expected[k]->is_traced && (is_traced || has_written_parts_)) {
        look(*slots_.back(), false);
        slots_.pop_back();
        continue;
      }
      if (rng_.chance(60)) look(*slots_.back());
    }
  }

  /// Adds the gradients to constants.
  void backward_into(const std::vector<Variable>& of, const std::vector<Variable>& wrt,
                     BackwardOptions options, const std::vector<Model>& expected) {
    options.is_traced = false;
    std::vector<Model> sums;
    for (const Model& gradient : expected) {
      const std::vector<double> values = numbers(gradient->shape);
      sums.push_back(model_detached(
          model_add(model_leaf(gradient->shape, values, false), model_detached(gradient))));
      options.into.push_back(g_.constant(tensor(gradient->shape, values)));
    }
    ++counts_["backward_into"];
    (void)g_.backward(of, wrt, options);
    for (std::size_t k = 0; k < sums.size(); ++k) {
      add(options.into[k], sums[k], false);
      look(*slots_.back());
    }
  }

  /// Lets the graph forget the steps of which no gradient can be asked, as its statistics do not
  /// count these.
  void forget() {
    free();
    say("statistics");
    const DynamicStatistics now = g_.statistics();
    if (now.steps > 0) ++counts_["forget"];
    if (now.forgotten > forgotten_ && (g_.options().deferred || g_.options().saved_bytes > 0))
      ++counts_["forget_dropped"];
    forgotten_ = now.forgotten;
  }

  /// Random numbers are drawn anew each time, although results are kept for equal commands.
  void random() {
    const SlotPtr x = some();
    say("random");
    const std::size_t before = g_.statistics().memo_hits;
    const Variable like = with_four_axes(x->variable);
    (void)g_.run("uniform seed=1", {like});
    (void)g_.run("uniform seed=1", {like});
    if (g_.statistics().memo_hits != before) throw Difference{"a random op was not run again"};
  }

  void effect() {
    const SlotPtr x = some(), y = some();
    const Model a = present(*x), b = present(*y);
    if (has_memo() || !a->is_traced) return;
    say("effect " + name(*x) + " on " + name(*y));
    const bool has = g_.has_effect(x->variable, y->variable);
    // Each gradient of a call is taken to depend on all that one of them depends on.
    if (has != model_has_effect(a, b) && !(has && has_traced_gradients_))
      throw Difference{"whether " + name(*x) + " has an effect on " + name(*y)};
  }

  void checkpoint() {
    log_ += " checkpoint:\n";
    ++counts_["checkpoint"];
    const auto commands = [&](std::span<const Variable>) {
      const std::size_t before = slots_.size();
      for (int k = 0; k < 3 && !slots_.empty(); ++k) {
        try {
          command();
        } catch (const ModelTooLarge&) {
        }
      }
      std::vector<Variable> made;
      for (std::size_t k = before; k < slots_.size(); ++k) made.push_back(slots_[k]->variable);
      return made;
    };
    // In some rounds all is kept that in others is computed again.
    if (numbers_.chance(50)) return (void)commands({});
    (void)g_.checkpoint(commands, {});
  }
};

DynamicOptions some_options(Rng& rng) {
  return {
      .deferred = rng.chance(50),
      .pending_bytes = rng.pick({std::size_t{1} << 30U, std::size_t{100}, std::size_t{400}}),
      .memo_bytes =
          rng.pick({std::size_t{0}, std::size_t{0}, std::size_t{200}, std::size_t{100000}}),
      .saved_bytes = rng.pick({std::size_t{0}, std::size_t{0}, std::size_t{64}, std::size_t{300}}),
      .kept_graphs = rng.pick({std::size_t{64}, std::size_t{64}, std::size_t{1}, std::size_t{3}})};
}

std::optional<std::string> left_over(DynamicGraph& g) {
  g.trim();
  const DynamicStatistics left = g.statistics();
  if (left.variables + left.values + left.steps + left.pending_steps + left.variable_bytes +
          left.saved_bytes + left.memo_bytes ==
      0)
    return std::nullopt;
  return "when all variables are gone, this is left:\n" + to_text(left);
}

struct Found {
  std::string what;
  int steps = 0;
};

/// Runs all rounds without some steps.
std::optional<Found> run_program(std::uint64_t seed, const std::set<int>& left_out,
                                 ProgramCounts& counts) {
  Rng rng(seed ^ 0x77);
  const DynamicOptions options = some_options(rng);
  const std::string text = "deferred " + std::to_string(options.deferred) + " pending " +
                           std::to_string(options.pending_bytes) + " memo " +
                           std::to_string(options.memo_bytes) + " saved " +
                           std::to_string(options.saved_bytes) + " kept " +
                           std::to_string(options.kept_graphs) + "\n";
  DynamicGraph g(program_context(), options);
  const int rounds = 2 + rng.below(3);
  int steps = 0;
  for (int round = 0; round < rounds; ++round) {
    Program program(seed, g, counts);
    const auto behind = [&](const std::string& what) {
      model_no_gradient = false;
      return Found{text + " round " + std::to_string(round) + ":\n" + program.log() + what,
                   program.count()};
    };
    try {
      program.run(round, left_out);
    } catch (const Difference& difference) {
      return behind(difference.what);
    } catch (const std::exception& error) {
      return behind("error: " + std::string(error.what()));
    }
    steps = program.count();
  }
  const DynamicStatistics now = g.statistics();
  if (now.memo_hits > 0) ++counts["memo_hit"];
  if (now.computed_again > 0) ++counts["computed_again"];
  if (const auto left = left_over(g)) return Found{text + *left, steps};
  return std::nullopt;
}

}  // namespace

std::optional<std::string> program_difference(std::uint64_t seed, ProgramCounts& counts) {
  const auto found = run_program(seed, {}, counts);
  return found ? std::optional(found->what) : std::nullopt;
}

std::string shrunk_program(std::uint64_t seed) {
  ProgramCounts ignored;
  std::set<int> left_out;
  auto found = run_program(seed, left_out, ignored);
  if (!found) return "it does not show again";
  for (bool is_smaller = true; is_smaller;) {
    is_smaller = false;
    for (int k = found->steps; k-- > 0;) {
      if (!left_out.insert(k).second) continue;
      if (auto smaller = run_program(seed, left_out, ignored)) {
        found = std::move(smaller);
        is_smaller = true;
      } else {
        left_out.erase(k);
      }
    }
  }
  return found->what;
}

std::vector<std::string> counted_by_programs() {
  return {"variable",      "constant", "zeros",
          "add",           "sub",      "mul",
          "matmul",        "sum",      "neg",
          "pool",          "call",     "static",
          "product",       "loop",     "nested",
          "view",          "set",      "assign",
          "run_to",        "update",   "in_place",
          "free",          "forget",   "detach",
          "look",          "backward", "backward_traced",
          "backward_into", "random",   "effect",
          "checkpoint",    "memo_hit", "computed_again",
          "forget_dropped"};
}

}  // namespace mote::test
