// SPDX-License-Identifier: Apache-2.0
// Memory of long trainings: not an allocation more after 100,000 steps than after 1,000; and each
// allocation that fails leaves a graph that can be used.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codegen/random/rng.h"
#include "graphs/dynamic/modes.h"
#include "mote/dynamic/dynamic_graph.h"
#include "runtime/faults/failing_heap.h"
#include "runtime/heap_count.h"

namespace mote {
namespace {

using test::all_of;
using test::elements_of;
using test::live_allocations;
using test::rising;

/// The bytes of this process that are in memory, without those of files.
std::size_t resident_bytes() {
  std::size_t pages = 0, resident = 0, of_files = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident >> of_files;
  return (resident - of_files) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

struct Training : test::InBothModes {};
INSTANTIATE_TEST_SUITE_P(Modes, Training, testing::Bool(), test::mode_name);

TEST_P(Training, HundredThousandStepsAreFlat) {
  constexpr int kSteps = 100000, kFirst = 1000;
  const Variable x = g.constant(rising({3, 2}, -2));
  Variable w = g.variable(rising({2, 4}, -3)), b = g.variable(all_of({4}, 0));
  Variable total = g.constant(all_of({}, 0));
  test::Rng rng(7);
  std::string counts;
  int live = 0;
  std::size_t resident = 0;
  for (int step = 1; step <= kSteps; ++step) {
    {
      std::vector<Variable> temporaries{g.run("matmul", {x, w})};
      temporaries.push_back(temporaries[0] + b);
      temporaries.push_back(g.run("tanh", {temporaries[1]}));
      temporaries.push_back(temporaries[2].reshape({12}));
      temporaries.push_back(g.run("sum axis=0", {temporaries[3] * temporaries[3]}));
      const Variable loss = temporaries.back();
      const std::vector<Variable> gradients = g.backward({loss}, {w, b});
      rng.shuffle(temporaries);
      while (!temporaries.empty()) temporaries.pop_back();
      w -= 0.001 * gradients[0];
      b -= 0.001 * gradients[1];
      total += loss.detach();
    }
    g.finish();
    if (step != kFirst && step != kSteps) continue;
    DynamicStatistics now = g.statistics();
    if (step == kFirst) {
      counts = to_text(now);
      live = live_allocations();
      resident = resident_bytes();
      continue;
    }
    EXPECT_EQ(to_text(now), counts);
    EXPECT_EQ(live_allocations(), live);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which keep what is freed
    EXPECT_LE(resident_bytes(), resident);
#endif
    RecordProperty("resident_bytes_first", std::to_string(resident));
    RecordProperty("resident_bytes_last", std::to_string(resident_bytes()));
  }
}

TEST_P(Training, ShapesThatChangeEveryStep) {
  constexpr int kSteps = 10000;
  Variable w = g.variable(all_of({}, 1));
  std::vector<int> live;
  live.reserve(kSteps);
  for (int step = 1; step <= kSteps; ++step) {
    {
      const Variable x = g.constant(all_of({1 + step / 100, 1 + step % 100}, 1));
      w -= 0.0001 * g.backward({x * w}, {w})[0];
    }
    g.finish();
    const DynamicStatistics now = g.statistics();
    ASSERT_EQ(now.values, 2U);
    ASSERT_EQ(now.steps, 0U);
    ASSERT_LE(now.compiled_graphs, g.options().kept_graphs);
    if (step % 2500 != 0) continue;
    g.trim();
    live.push_back(live_allocations());
  }
  for (const int count : live) EXPECT_EQ(count, live.front());
}

/// Graphs are kept within a number of bytes, whatever their number.
TEST(KeptGraphs, AreBoundInBytes) {
  Context context;
  constexpr std::size_t kBytes = 40000;
  DynamicGraph g(context, {.kept_graph_bytes = kBytes});
  DynamicGraph all(context);
  const auto step = [](DynamicGraph& in, std::int64_t extent) {
    const Variable w = in.variable(all_of({extent}, 1));
    const Variable x = in.run("tanh", {in.run("tanh", {w * w})});
    return elements_of(in.backward({x}, {w})[0]);
  };
  bool is_forgotten = false;
  for (std::int64_t extent = 100; extent <= 1500; extent += 100) {
    EXPECT_EQ(step(g, extent), step(all, extent));
    const DynamicStatistics now = g.statistics();
    EXPECT_LE(now.compiled_bytes, kBytes);
    EXPECT_GT(now.compiled_bytes, 0U);
    is_forgotten = is_forgotten || now.compiled_graphs < all.statistics().compiled_graphs;
  }
  EXPECT_TRUE(is_forgotten);
  EXPECT_GT(all.statistics().compiled_bytes, kBytes);
  // One that is larger than the bound is kept alone.
  EXPECT_EQ(step(g, 100000), step(all, 100000));
  EXPECT_EQ(g.statistics().compiled_graphs, 1U);
  const std::size_t made = g.statistics().compilations;
  step(g, 100000);
  EXPECT_EQ(g.statistics().compilations, made);
}

/// The peak of the heap while sums of 100 tensors, which the program has for one command each, are
/// computed on the graph, and their sum is looked at.
std::size_t peak_of_sums(DynamicGraph& g, std::int64_t extent) {
  const test::HeapPeak peak;
  Variable total = g.scalar(DType::f64, 0);
  for (int k = 1; k <= 100; ++k)
    total = total + g.run("sum axis=0", {g.constant(all_of({extent}, k))});
  EXPECT_EQ(total.item(), 5050.0 * static_cast<double>(extent));
  return peak.bytes();
}

/// Returns the peak of the heap while elements of tensors are summed up which only their views
/// keep.
std::size_t peak_of_elements(DynamicGraph& g, std::int64_t extent) {
  const test::HeapPeak peak;
  Variable total = g.scalar(DType::f64, 0);
  for (int k = 1; k <= 100; ++k)
    total = total + g.constant(all_of({extent}, k)).slice(0, 1, 1).select(0, 0);
  EXPECT_EQ(total.item(), 5050.0);
  return peak.bytes();
}

/// Pending commands and their inputs need no more bytes than the budget.
TEST(PendingBytes, BoundThePeakOfTheHeap) {
  constexpr std::int64_t kExtent = std::int64_t{1} << 16U;
  constexpr std::size_t kTensor = sizeof(double) << 16U, kBudget = 10 * kTensor;
  Context context;
  DynamicGraph eager(context), all(context, {.deferred = true});
  DynamicGraph bounded(context, {.deferred = true, .pending_bytes = kBudget});
  // Beyond the budget there are the tensor that the program has and the one that it had before, and
  // the bookkeeping, which needs less than another one.
  EXPECT_LE(peak_of_sums(eager, kExtent), 3 * kTensor);
  EXPECT_LE(peak_of_sums(bounded, kExtent), kBudget + 3 * kTensor);
  EXPECT_GE(peak_of_sums(all, kExtent), 100 * kTensor);
  EXPECT_LE(peak_of_elements(bounded, kExtent), kBudget + 3 * kTensor);
  EXPECT_GE(peak_of_elements(all, kExtent), 100 * kTensor);
}

/// Returns the peak of the heap in a trace of which only the last value has a name.
std::size_t peak_of_trace(int steps, const std::function<Variable(DynamicGraph&, Variable)>& step,
                          const DynamicOptions& options = {}) {
  Context context;
  DynamicGraph g(context, options);
  const test::HeapPeak peak;
  Variable y = g.variable(all_of({1000}, 1));
  for (int k = 0; k < steps; ++k) y = step(g, y);
  return peak.bytes();
}

/// Steps that no gradient can need go on the way, however they were recorded.
TEST(Forgetting, KeepsTheMemoryOfALongTraceFlat) {
  const auto command = [](DynamicGraph& g, const Variable& x) { return g.run("tanh", {x}); };
  const auto converts = [](DynamicGraph& g, const Variable& x) {
    return g.convert(x, {x.form().dtype == DType::f64 ? DType::f32 : DType::f64, {1000}});
  };
  SymbolicGraph graph("twice");
  graph.set_outputs({graph.add("tanh", {graph.input("x", {DType::f64, {1000}})})});
  const StaticFunction function(std::move(graph));
  const auto whole = [&](DynamicGraph& g, const Variable& x) { return g.run(function, {x})[0]; };
  for (const std::function<Variable(DynamicGraph&, Variable)>& step :
       {std::function<Variable(DynamicGraph&, Variable)>(command), {converts}, {whole}})
    EXPECT_LE(peak_of_trace(8000, step), 2 * peak_of_trace(1000, step));
}

/// A graph that defers forgets them too, and so does one that drops values, or has had a
/// checkpoint.
TEST(Forgetting, KeepsTheMemoryOfALongTraceFlatWhereValuesArePendingOrDropped) {
  constexpr std::size_t kTensor = 1000 * sizeof(double);
  const auto command = [](DynamicGraph& g, const Variable& x) { return g.run("tanh", {x}); };
  const auto checkpoint = [](DynamicGraph& g, const Variable& x) {
    return g.checkpoint(
        [&](std::span<const Variable> in) {
          return std::vector<Variable>{g.run("tanh", {g.run("tanh", {in[0]})})};
        },
        std::vector<Variable>{x})[0];
  };
  for (const DynamicOptions& options :
       {DynamicOptions{.deferred = true, .pending_bytes = 20 * kTensor},
        DynamicOptions{.saved_bytes = 20 * kTensor},
        DynamicOptions{
            .deferred = true, .pending_bytes = 20 * kTensor, .saved_bytes = 20 * kTensor},
        DynamicOptions{}})
    for (const std::function<Variable(DynamicGraph&, Variable)>& step :
         {std::function<Variable(DynamicGraph&, Variable)>(command), {checkpoint}})
      EXPECT_LE(peak_of_trace(100000, step, options), 2 * peak_of_trace(1000, step, options))
          << options.deferred << " " << options.saved_bytes;
}

/// The gradient by w of a function of w and of a value that has no name, after steps were looked
/// for that no gradient can need. Within a checkpoint the value is computed again for the gradient,
/// also if a variable had it when they were looked for.
std::vector<double> gradient_beside_a_nameless_value(DynamicGraph& g, bool has_checkpoint,
                                                     bool looks, bool is_named) {
  const Variable w = g.variable(rising({3}, 2));
  Variable given = g.variable(rising({3}, 1));
  std::vector<Variable> inputs = {given * 0.5, w};
  given = {};
  Variable inside;
  const auto function = [&](std::span<const Variable> in) {
    const Variable h = g.run("tanh", {in[0]});
    if (is_named) inside = h;
    return std::vector<Variable>{h * h * in[1]};
  };
  const Variable y = has_checkpoint ? g.checkpoint(function, inputs)[0] : function(inputs)[0];
  inputs.clear();
  if (looks) (void)y.value();
  (void)g.statistics();
  inside = {};
  (void)g.statistics();
  return elements_of(g.backward({y}, {w})[0]);
}

/// A step is not forgotten if one that stays needs it, though its values are dropped or pending.
TEST(Forgetting, KeepsWhatAGradientComputesAgain) {
  Context context;
  DynamicGraph plain(context);
  const std::vector<double> expected = gradient_beside_a_nameless_value(plain, false, false, false);
  EXPECT_GT(plain.statistics().forgotten, 0U);
  for (int ways = 0; ways < 8; ++ways) {
    DynamicGraph g(context, {.deferred = (ways & 1) != 0});
    EXPECT_EQ(gradient_beside_a_nameless_value(g, true, (ways & 2) != 0, (ways & 4) != 0), expected)
        << ways;
  }
}

/// Ways to sum up losses with what they were computed from.
struct Sum {
  std::string name;
  std::function<void(DynamicGraph&, Variable& total, const Variable& loss)> add;
};

std::vector<Sum> sums() {
  return {
      {"+=", [](DynamicGraph&, Variable& total, const Variable& loss) { total += loss; }},
      {"a mean that forgets", [](DynamicGraph&, Variable& total,
                                 const Variable& loss) { total.assign(total * 0.9 + loss * 0.1); }},
      {"through views",
       [](DynamicGraph&, Variable& total, const Variable& loss) {
         const Variable part = loss.slice(0, 1, 2), rest = loss.slice(0, 0, 1);
         total = (total.reshape({3}) + (rest + part.slice(0, 0, 1)).broadcast_to({3})).reshape({3});
       }},
      {"by parts",
       [](DynamicGraph&, Variable& total, const Variable& loss) {
         Variable part = total.slice(0, 1, 2);
         part += loss.slice(0, 0, 2);
       }},
      {"by a static function",
       [](DynamicGraph& g, Variable& total, const Variable& loss) {
         SymbolicGraph sum("sum");
         const TensorSymbol a = sum.input("a", {DType::f64, {3}}),
                            b = sum.input("b", {DType::f64, {3}});
         sum.set_outputs({sum.add("add", {a, b})});
         static const StaticFunction function(sum);
         total = g.run(function, {total, loss})[0];
       }},
  };
}

/// Returns counts after as many steps of a training, taken while the loss has a name.
std::string counts_after(DynamicGraph& g, int steps, const Sum& sum, bool has_checkpoint) {
  Variable w = g.variable(all_of({3}, 1)), total = g.constant(all_of({3}, 0));
  std::string counts;
  for (int k = 1; k <= steps; ++k) {
    const auto square = [](std::span<const Variable> in) {
      return std::vector<Variable>{in[0] * in[0]};
    };
    const Variable loss = has_checkpoint ? g.checkpoint(square, std::vector<Variable>{w})[0]
                                         : square(std::vector<Variable>{w})[0];
    sum.add(g, total, loss);
    w -= 0.001 * g.backward({loss}, {w})[0];
    g.finish();
    if (k < steps) continue;
    const DynamicStatistics now = g.statistics();
    counts = std::to_string(now.values) + " values, " + std::to_string(now.steps) + " steps, " +
             std::to_string(now.saved_bytes) + " bytes saved";
  }
  return counts;
}

/// The gradient of a sum reads none of its terms: the last one's name keeps no other one's history.
TEST(Forgetting, TheHistoryOfASumIsFlat) {
  Context context;
  for (const Sum& sum : sums())
    for (const bool deferred : {false, true})
      for (const bool has_checkpoint : {false, true}) {
        DynamicGraph few(context, {.deferred = deferred}), many(context, {.deferred = deferred});
        EXPECT_EQ(counts_after(few, 20, sum, has_checkpoint),
                  counts_after(many, 400, sum, has_checkpoint))
            << sum.name << ", deferred: " << deferred << ", in checkpoints: " << has_checkpoint;
      }
}

/// A step of a training, which may be done again if memory was lacking.
struct Subject {
  explicit Subject(bool deferred) : g(context, {.deferred = deferred}) {
    w = g.variable(rising({2, 2}));
    (void)g.scalar(DType::f64, 1);
  }
  void act() {
    if (seen.empty()) differentiate();
    if (w.version() == 0) w -= gradient;
    updated = elements_of(w);
  }
  virtual void differentiate() {
    gradient = g.backward({w * w}, {w})[0];
    seen = elements_of(gradient);
  }
  virtual ~Subject() = default;
  Context context{{.workers = 1}};
  DynamicGraph g;
  Variable w, gradient;
  std::vector<double> seen, updated;
};

/// More ops, views and writes to parts; all has been compiled before.
struct LargeSubject : Subject {
  explicit LargeSubject(bool deferred) : Subject(deferred) {
    act();
    w = g.variable(rising({2, 2}));
    gradient = {};
    seen.clear();
    updated.clear();
  }
  void differentiate() override {
    const Variable x = g.constant(rising({3, 2}));
    const Variable h = g.run("matmul", {x, w});
    const Variable y = g.run("tanh", {h.slice(0, 0, 2)});
    const Variable all = g.zeros({DType::f64, {2, 4}});
    Variable left = all.slice(1, 0, 2);
    left.assign(y);
    g.run_to(all.slice(1, 2, 2), Command("mul"), {y, y});
    gradient = g.backward({all}, {w})[0];
    seen = elements_of(gradient);
  }
};

template <typename S>
void survive_lacking_memory(bool deferred) {
  S right(deferred);
  right.act();
  test::survive_each_allocation([&] { return std::make_unique<S>(deferred); },
                                [](std::unique_ptr<S>& subject) { subject->act(); },
                                [&](std::unique_ptr<S>& subject) {
                                  EXPECT_EQ(subject->seen, right.seen);
                                  EXPECT_EQ(subject->updated, right.updated);
                                  subject->gradient = {};
                                  subject->g.trim();
                                  const DynamicStatistics left = subject->g.statistics();
                                  EXPECT_EQ(left.variables, 1U);
                                  EXPECT_EQ(left.values, 1U);
                                  EXPECT_EQ(left.steps, 0U);
                                });
}

TEST_P(Training, EachAllocationMayFail) { survive_lacking_memory<Subject>(is_deferred()); }

TEST_P(Training, EachAllocationOfAnEqualStepMayFail) {
  survive_lacking_memory<LargeSubject>(is_deferred());
}

}  // namespace
}  // namespace mote
