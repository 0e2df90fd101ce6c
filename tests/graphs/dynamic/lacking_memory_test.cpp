// SPDX-License-Identifier: Apache-2.0
// Each allocation of some work on a dynamic graph fails once, and from then on: the error says so,
// the same work succeeds when there is memory again, and then the graph has what it has without a
// failure.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graphs/dynamic/modes.h"
#include "graphs/dynamic/program_functions.h"
#include "mote/dynamic/dynamic_graph.h"
#include "runtime/faults/failing_heap.h"

namespace mote {
namespace {

using test::elements_of;
using test::rising;
using Numbers = std::vector<double>;

struct Subject {
  explicit Subject(const DynamicOptions& options) : g(context, options) {
    w = g.variable(rising({2, 2}, 1));
    x = g.variable(rising({2, 2}, -1));
  }
  /// Returns the graph's statistics and the reasons why it keeps memory.
  std::string counts() const {
    const DynamicStatistics now = g.statistics();
    std::string text;
    for (const std::size_t count : {now.variables, now.values, now.steps, now.pending_steps,
                                    now.variable_bytes, now.saved_bytes, now.memo_bytes})
      text += std::to_string(count) + " ";
    std::vector<std::string> reasons;
    for (const KeptMemory& one : g.memory()) reasons.push_back(one.form + ": " + one.reason);
    std::ranges::sort(reasons);
    for (const std::string& reason : reasons) text += "\n" + reason;
    return text;
  }

  Context context{{.workers = 1}};
  DynamicGraph g;
  Variable w, x;
  std::vector<Variable> given;  ///< made before memory is lacking
  std::vector<Variable> made;   ///< by the work, from its beginning each time
};

using Work = std::function<Numbers(Subject&)>;

Numbers elements_of_all(const std::vector<Variable>& variables) {
  Numbers all;
  for (const Variable& one : variables) {
    const Numbers more = elements_of(one);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

struct Story {
  Work work;
  std::function<void(Subject&)> before = {};
  bool is_known = false;  ///< the work was done once before memory is lacking
  DynamicOptions options = {};
};

struct Run {
  Run(const Story& story, bool is_deferred) {
    DynamicOptions options = story.options;
    options.deferred = is_deferred;
    subject = std::make_unique<Subject>(options);
    if (story.before) story.before(*subject);
    if (story.is_known) act(story);
  }
  void act(const Story& story) {
    result.clear();
    subject->made.clear();
    result = story.work(*subject);
  }
  std::unique_ptr<Subject> subject;
  Numbers result;
};

void survive(const Story& story, bool is_deferred) {
  Run right(story, is_deferred);
  right.act(story);
  const std::string counts = right.subject->counts();
  test::survive_each_allocation([&] { return Run(story, is_deferred); },
                                [&](Run& run) { run.act(story); },
                                [&](Run& run) {
                                  EXPECT_EQ(run.result, right.result);
                                  EXPECT_EQ(run.subject->counts(), counts);
                                });
}

struct LackingMemory : testing::TestWithParam<bool> {
  static void survives(const Story& story) { survive(story, GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Modes, LackingMemory, testing::Bool(), test::mode_name);

TEST_P(LackingMemory, AStaticLoop) {
  const StaticFunction loop = test::loop_function(DType::f64, 2);
  survives({[&](Subject& s) {
    s.made = {s.g.run(loop, {s.g.constant(rising({2, 2}))})[0]};
    return elements_of_all(s.made);
  }});
}

TEST_P(LackingMemory, TheTapeOfAStaticLoop) {
  const StaticFunction loop = test::loop_function(DType::f64, 2);
  survives({.work =
                [&](Subject& s) {
                  const Variable y = s.g.run(loop, {s.w * s.x})[0] + s.x;
                  s.made = s.g.backward({y}, {s.w, s.x});
                  return elements_of_all(s.made);
                },
            .is_known = true});
}

TEST_P(LackingMemory, CodeInAStaticGraph) {
  Context context;
  const StaticFunction nested = test::nested_function(context, DType::f64, 2);
  survives({.work =
                [&](Subject& s) {
                  const Variable y = s.g.run(nested, {s.w + s.x})[0] * s.x;
                  s.made = s.g.backward({y}, {s.w, s.x}, {.is_traced = true});
                  s.made.push_back(s.g.backward({s.made[0]}, {s.x})[0]);
                  return elements_of_all(s.made);
                },
            .is_known = true});
}

/// Steps that did not run since memory was lacking are none that run.
TEST_P(LackingMemory, ALookAtWhatCodeComputes) {
  survives({.work = [](Subject& s) { return elements_of_all(s.given); },
            .before =
                [](Subject& s) {
                  const Variable h = s.w * 2.0 + s.x;
                  const StaticFunction nested = test::nested_function(s.context, DType::f64, 2);
                  s.given = {s.g.run(nested, {h})[0] * s.x + h};
                }});
}

TEST_P(LackingMemory, CalledFunctions) {
  survives({[&](Subject& s) {
    const std::vector<TensorForm> forms{{DType::f64, {2, 2}}};
    const auto square = [&](const Variable& x) {
      const std::vector<VariableRef> given{x};
      return s.g.call(test::square_function(), given, forms)[0];
    };
    s.made = s.g.backward({square(square(s.w)) * s.x}, {s.w});
    return elements_of_all(s.made);
  }});
}

TEST_P(LackingMemory, AnOutputThatOnlyTheGradientReads) {
  survives({.work =
                [&](Subject& s) {
                  const Variable h = (s.w * s.x).broadcast_to({1, 1, 2, 2});
                  const Variable y =
                      s.g.run("max_pool2d_with_indices kernel0=2 kernel1=2", {h}) * 2.0;
                  s.made = s.g.backward({y}, {s.w});
                  return elements_of_all(s.made);
                },
            .is_known = true});
}

TEST_P(LackingMemory, ACheckpoint) {
  survives({.work =
                [&](Subject& s) {
                  const auto function = [&](std::span<const Variable> in) {
                    const Variable h = s.g.run("tanh", {in[0] + in[1]});
                    s.made = {h * in[0]};
                    return std::vector{s.g.run("tanh", {s.made[0] + h})};
                  };
                  std::vector<Variable> given{s.w * 2.0, s.x + s.w};
                  const Variable y = s.g.checkpoint(function, given)[0];
                  given.clear();
                  s.made = s.g.backward({y, s.made[0]}, {s.w, s.x});
                  return elements_of_all(s.made);
                },
            .is_known = true});
}

TEST_P(LackingMemory, EqualCommands) {
  survives({.work =
                [&](Subject& s) {
                  s.made = {s.w * s.x, s.w * s.x, (s.w * s.x) + s.w};
                  s.made.push_back(s.g.backward({s.made[2]}, {s.w})[0]);
                  return elements_of_all(s.made);
                },
            .options = {.memo_bytes = 1000}});
}

TEST_P(LackingMemory, ALimitOfWhatIsKept) {
  survives({.work =
                [&](Subject& s) {
                  Variable y = s.w;
                  for (int k = 0; k < 6; ++k) y = s.g.run("tanh", {y * s.x});
                  s.made = s.g.backward({y}, {s.w});
                  return elements_of_all(s.made);
                },
            .is_known = true,
            .options = {.saved_bytes = 70}});
}

TEST_P(LackingMemory, OneGraphIsKept) {
  survives({.work =
                [&](Subject& s) {
                  s.made = {s.g.backward({s.w * s.x}, {s.w})[0], s.g.backward({-s.w}, {s.w})[0]};
                  return elements_of_all(s.made);
                },
            .options = {.kept_graphs = 1}});
}

/// Either all gradients are added, or none is.
TEST_P(LackingMemory, SumsOfGradients) {
  survives({.work =
                [&](Subject& s) {
                  if (s.given[0].version() == 0)
                    (void)s.g.backward({s.w * s.x}, {s.w, s.x, s.x},
                                       {.into = {s.given[0], s.given[1], s.given[2]}});
                  return elements_of_all(s.given);
                },
            .before =
                [](Subject& s) {
                  const Variable whole = s.g.constant(rising({3, 2}, 10));
                  s.given = {s.g.constant(rising({2, 2}, 20)), whole.slice(0, 1, 2),
                             s.g.constant(rising({2, 2}, 30)), whole};
                }});
}

TEST_P(LackingMemory, WritesThroughViews) {
  survives({.work =
                [&](Subject& s) {
                  const Variable y = s.w * 1.0, flat = y.reshape({4});
                  Variable row = y.slice(0, 1, 1);
                  row += s.x.slice(0, 0, 1);
                  flat.slice(0, 1, 2).assign(s.g.constant(rising({2}, 3)));
                  Variable repeated = s.g.run("neg", {s.g.zeros({DType::f64, {1}})});
                  repeated = repeated.broadcast_to({2, 2}) - s.x;
                  s.made = {y, row, flat, repeated};
                  s.made.push_back(s.g.backward({y * y}, {s.w})[0]);
                  return elements_of_all(s.made);
                },
            .is_known = true});
}

TEST_P(LackingMemory, ConversionsAndConstants) {
  survives({[&](Subject& s) {
    s.made = {s.g.convert(s.w, {DType::f32, {2, 2}}), s.w.detach(), 2.0 - s.w, s.w / 4.0};
    return elements_of_all(s.made);
  }});
}

/// What no gradient can need is forgotten at the next question too.
TEST_P(LackingMemory, CountsAndReasons) {
  survives({.work =
                [&](Subject& s) {
                  Numbers seen;
                  for (const KeptMemory& one : s.g.memory())
                    seen.push_back(static_cast<double>(one.bytes));
                  seen.push_back(static_cast<double>(s.g.statistics().steps));
                  return seen;
                },
            .before =
                [](Subject& s) {
                  const Variable gone = s.g.variable(rising({2, 2}, 5));
                  s.given = {s.g.run("tanh", {gone * gone}), s.g.run("tanh", {s.w})};
                  s.g.finish();
                }});
}

/// What stays while values are computed goes with its variables afterwards.
TEST_P(LackingMemory, AllThatIsPending) {
  survives({.work =
                [&](Subject& s) {
                  s.g.finish();
                  const Numbers last = elements_of(s.given[2]);
                  s.given[0] = s.given[1] = {};
                  return last;
                },
            .before =
                [](Subject& s) {
                  const Variable first = s.w + s.x, second = first + s.x;
                  s.given = {first, second, second + s.w};
                }});
}

TEST_P(LackingMemory, SecondGradients) {
  survives({.work =
                [&](Subject& s) {
                  const Variable y = s.g.run("tanh", {s.w}) * s.x;
                  const Variable first = s.g.backward({y}, {s.w}, {.is_traced = true})[0];
                  s.made = s.g.backward({first}, {s.w, s.x});
                  return elements_of_all(s.made);
                },
            .is_known = true});
}

TEST_P(LackingMemory, Updates) {
  survives({[&](Subject& s) {
    Variable v = s.g.variable(rising({2, 2}, 3));
    for (int k = 0; k < 2; ++k) v -= 0.5 * s.g.backward({v * v * s.x}, {v})[0];
    v *= v;
    s.made = {v};
    return elements_of_all(s.made);
  }});
}

/// An op that lacked memory can write over its input when there is some.
TEST(LackingMemoryEager, InPlace) {
  survive({.work =
               [&](Subject& s) {
                 if (s.given[0].version() == 0) s.g.run_in_place(s.given[0], Command("neg"));
                 return elements_of_all(s.given);
               },
           .before = [](Subject& s) { s.given = {s.g.constant(rising({3}, 1)) * 1.0}; }},
          false);
}

}  // namespace
}  // namespace mote
