// SPDX-License-Identifier: Apache-2.0
// Tests mote/mote_graphs.h without memory: each allocation fails once, and from then on;
// MOTE_OUT_OF_MEMORY, results untouched, graphs as they were, and a retry that succeeds.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graphs/c_api/c_graphs.h"
#include "runtime/faults/failing_heap.h"

namespace {

using mote::test::CommandHandle;
using mote::test::compiled;
using mote::test::ContextHandle;
using mote::test::elements;
using mote::test::ExecutableHandle;
using mote::test::expect;
using mote::test::GraphHandle;
using mote::test::kMlp;
using mote::test::kReal;
using mote::test::made_context;
using mote::test::made_tensor;
using mote::test::named;
using mote::test::output_of;
using mote::test::parsed;
using mote::test::survive_each_allocation;
using mote::test::SymbolicHandle;
using mote::test::TensorHandle;
using mote::test::text_of;

class FailingHeapGraphC : public testing::Test {
 protected:
  /// The text of the last error takes memory that stays.
  void SetUp() override { EXPECT_EQ(mote_symbolic_create(nullptr, nullptr), MOTE_INVALID); }
};

TEST_F(FailingHeapGraphC, Parse) {
  survive_each_allocation([] { return SymbolicHandle(); }, [](SymbolicHandle& g) { g = parsed(); },
                          [](SymbolicHandle& g) { EXPECT_EQ(text_of(g), kMlp); });
}

/// Something is added to a graph whole or not at all: after a failure the graph is as before.
template <typename Add>
void survives_whole(const Add& add, const char* graph = kMlp) {
  SymbolicHandle with = parsed(graph);
  add(with);
  const std::string after = text_of(with);
  survive_each_allocation([&] { return parsed(graph); }, [&](SymbolicHandle& g) { add(g); },
                          [&](SymbolicHandle& g) {
                            EXPECT_EQ(mote_symbolic_verify(g), MOTE_OK) << mote_last_error();
                            EXPECT_EQ(text_of(g), after);
                          });
}

TEST_F(FailingHeapGraphC, Symbols) {
  const std::int64_t shape[] = {2, 2};
  mote_symbol made = MOTE_NO_SYMBOL;
  const auto survives = [](const auto& call) {
    survives_whole([&](mote_symbolic* g) { expect(call(g, named(g, "z"))); });
  };
  survives([&](mote_symbolic* g, mote_symbol) {
    return mote_symbolic_input(g, "a name that is long", kReal, 2, shape, &made);
  });
  survives([&](mote_symbolic* g, mote_symbol z) {
    return mote_symbolic_input_like(g, "a name that is long", g, z, &made);
  });
  survives([&](mote_symbolic* g, mote_symbol) {
    return mote_symbolic_tensor(g, "a name that is long", kReal, 2, shape, 1, &made);
  });
  survives([&](mote_symbolic* g, mote_symbol z) {
    return mote_symbolic_slice(g, z, 0, 0, 2, 1, &made);
  });
  survives([&](mote_symbolic* g, mote_symbol z) {
    return mote_symbolic_convert(g, z, {kDLFloat, 64, 1}, &made);
  });
  survives([](mote_symbolic* g, mote_symbol z) { return mote_symbolic_set_outputs(g, &z, 1); });
  survives_whole(  // the symbol is known by its index, since its name changes
      [](mote_symbolic* g) {
        mote_symbol h = named(g, "x");
        h.index += 3;
        expect(mote_symbolic_rename(g, h, "another name that is long"));
      });
  survives_whole([](mote_symbolic* g) { expect(mote_symbolic_fill(g, named(g, "v"), 3)); },
                 "graph f() -> ()\n  p = tensor f32[4]\n  v = p.slice(0, 0, 2, 1)\n");
}

TEST_F(FailingHeapGraphC, Apply) {
  survives_whole([](mote_symbolic* g) {
    const mote_symbol z = named(g, "z");
    mote_symbol y = MOTE_NO_SYMBOL;
    try {
      expect(mote_symbolic_apply(g, "softmax axis=1", &z, 1, &y, 1));
    } catch (const std::bad_alloc&) {
      EXPECT_EQ(y.index, 0xFFFFFFFFU);
      throw;
    }
  });
}

TEST_F(FailingHeapGraphC, Views) {
  const std::int64_t shape[] = {2, 4};
  const std::int64_t wide[] = {3, 4, 2};
  const std::int32_t order[] = {1, 0};
  mote_symbol made = MOTE_NO_SYMBOL;
  const auto survives = [](const auto& call) {
    survives_whole([&](mote_symbolic* g) { expect(call(g, named(g, "z"))); });
  };
  survives([&](mote_symbolic* g, mote_symbol z) {
    return mote_symbolic_reshape(g, z, 2, shape, &made);
  });
  survives([&](mote_symbolic* g, mote_symbol z) {
    return mote_symbolic_permute(g, z, 2, order, &made);
  });
  survives([&](mote_symbolic* g, mote_symbol z) {
    return mote_symbolic_broadcast_to(g, z, 3, wide, &made);
  });
  survives(
      [&](mote_symbolic* g, mote_symbol z) { return mote_symbolic_select(g, z, 1, 1, &made); });
}

TEST_F(FailingHeapGraphC, WritesAndCopies) {
  constexpr const char* kParts =
      "graph f(x f32[4]) -> ()\n  p = tensor f32[8]\n  v = p.slice(0, 0, 4, 1)\n";
  CommandHandle neg;
  neg.set([](mote_command** c) { return mote_command_parse("neg", c); });
  const auto survives = [](const auto& call) {
    survives_whole([&](mote_symbolic* g) { expect(call(g, named(g, "x"), named(g, "v"))); },
                   kParts);
  };
  survives([&](mote_symbolic* g, mote_symbol x, mote_symbol v) {
    return mote_symbolic_write(g, neg, &x, 1, &v, 1);
  });
  survives([&](mote_symbolic* g, mote_symbol x, mote_symbol v) {
    return mote_symbolic_copy_to(g, x, v);
  });
  const auto nothing = [](void*, const mote_tensor* const*, size_t, mote_tensor* const*, size_t) {
    return MOTE_OK;
  };
  survives([&](mote_symbolic* g, mote_symbol x, mote_symbol v) {
    return mote_symbolic_call(g, "a name that is long", nothing, nullptr, &x, 1, &v, 1);
  });
}

TEST_F(FailingHeapGraphC, ConstantsShapesAndOrder) {
  const TensorHandle two = made_tensor({2}, 2);
  mote_symbol made = MOTE_NO_SYMBOL;
  survives_whole([&](mote_symbolic* g) {
    expect(mote_symbolic_constant(g, "a name that is long", two, &made));
  });
  const std::int64_t shape[] = {4};
  survives_whole(
      [&](mote_symbolic* g) { expect(mote_symbolic_set_shape(g, named(g, "x"), 1, shape)); },
      "graph f(x f32[?]) -> (z)\n  y = neg(x)\n  z = exp(y)\n");
  survives_whole(
      [](mote_symbolic* g) { expect(mote_symbolic_order(g, named(g, "y"), named(g, "z"))); },
      "graph f(x f32[4]) -> (y, z)\n  y = neg(x)\n  z = exp(x)\n");
}

/// Four layers and their way back.
constexpr const char* kFourLayers =
    "graph chain(x f32[4], s f32[4]) -> (g1)\n"
    "  h1 = tanh(x)\n  h2 = tanh(h1)\n  h3 = tanh(h2)\n  h4 = tanh(h3)\n"
    "  g4 = tanh.grad(s, h4)\n  g3 = tanh.grad(g4, h3)\n  g2 = tanh.grad(g3, h2)\n"
    "  g1 = tanh.grad(g2, h1)\n";

// A budget is one of these, after trials on copies.
TEST_F(FailingHeapGraphC, Checkpoint) {
  for (const int policy :
       {MOTE_CHECKPOINT_SQUARE_ROOT, MOTE_CHECKPOINT_BINOMIAL, MOTE_CHECKPOINT_CHEAP})
    survives_whole(
        [&](mote_symbolic* g) {
          mote_checkpoint_options options = {};
          options.size = sizeof(options);
          options.policy = policy;
          options.slots = 1;
          const mote_symbol loss = named(g, "h4");
          mote_checkpoint_report report = {};
          report.size = sizeof(report);
          expect(mote_symbolic_checkpoint_with(g, &loss, 1, &options, &report));
        },
        kFourLayers);
}

TEST_F(FailingHeapGraphC, Passes) {
  survives_whole(
      [](mote_symbolic* g) {
        const char* const names[] = {"merge", "prune"};
        const char* reports = nullptr;
        expect(mote_symbolic_apply_passes_with(g, names, 2, nullptr, &reports));
      },
      "graph f(x f32[4]) -> (z)\n  a = exp(x)\n  b = exp(x)\n  z = add(a, b)\n");
}

TEST_F(FailingHeapGraphC, Evaluate) {
  survive_each_allocation([] { return parsed(kFourLayers); },
                          [](SymbolicHandle& g) {
                            const TensorHandle x = made_tensor({4}, 0), s = made_tensor({4}, 3);
                            const mote_symbol inputs[] = {named(g, "x"), named(g, "s")};
                            const mote_tensor* const tensors[] = {x, s};
                            const mote_symbol g1 = named(g, "g1");
                            TensorHandle result;
                            result.set([&](mote_tensor** t) {
                              return mote_symbolic_evaluate(g, nullptr, inputs, tensors, 2, &g1, 1,
                                                            t);
                            });
                            EXPECT_EQ(elements(result), std::vector<double>(4, 3));
                          },
                          [](SymbolicHandle& g) { EXPECT_EQ(text_of(g), kFourLayers); });
}

/// The network, and memory for it.
struct Step {
  ContextHandle context = made_context();
  SymbolicHandle graph = parsed();
  TensorHandle x = made_tensor({4, 3}, 0.25), w1 = made_tensor({3, 8}, 0),
               w2 = made_tensor({8, 2}, 1);
  ExecutableHandle run;
  mote_symbol slope = MOTE_NO_SYMBOL;

  void bind() const {
    expect(mote_executable_bind(run, named(graph, "x"), x));
    expect(mote_executable_bind(run, named(graph, "w1"), w1));
    expect(mote_executable_bind(run, named(graph, "w2"), w2));
  }
  void check() const {
    bind();
    EXPECT_EQ(mote_executable_run(run), MOTE_OK) << mote_last_error();
    EXPECT_EQ(output_of(run, named(graph, "sums")), std::vector<double>(2, 0));
  }
  /// Compiles the graph with the slope, which has that number of elements, all of them 0.
  void check_slope(std::size_t count) {
    EXPECT_EQ(mote_symbolic_verify(graph), MOTE_OK) << mote_last_error();
    const mote_symbol both[] = {named(graph, "sums"), slope};
    EXPECT_EQ(mote_symbolic_set_outputs(graph, both, 2), MOTE_OK);
    run = compiled(graph, context);
    check();
    EXPECT_EQ(output_of(run, slope), std::vector<double>(count, 0));
  }
};

/// Nothing uses what a failure leaves behind.
TEST_F(FailingHeapGraphC, Gradient) {
  survive_each_allocation(
      [] { return std::make_unique<Step>(); },
      [](std::unique_ptr<Step>& s) {
        const mote_symbol sums = named(s->graph, "sums"), w2 = named(s->graph, "w2");
        expect(mote_symbolic_gradient(s->graph, &sums, 1, &w2, 1, nullptr, &s->slope));
      },
      [](std::unique_ptr<Step>& s) { s->check_slope(16); });
}

TEST_F(FailingHeapGraphC, ForwardMode) {
  survive_each_allocation([] { return std::make_unique<Step>(); },
                          [](std::unique_ptr<Step>& s) {
                            const mote_symbol sums = named(s->graph, "sums"),
                                              w2 = named(s->graph, "w2");
                            expect(mote_symbolic_jvp(s->graph, &sums, 1, &w2, 1, &w2, &s->slope));
                          },
                          [](std::unique_ptr<Step>& s) { s->check_slope(2); });
}

TEST_F(FailingHeapGraphC, Trace) {
  survive_each_allocation(
      [] {
        auto s = std::make_unique<Step>();
        s->run = compiled(s->graph, s->context);
        s->check();
        return s;
      },
      [](std::unique_ptr<Step>& s) {
        expect(mote_executable_trace(s->run, 1));
        expect(mote_executable_run(s->run));
        expect(mote_executable_trace(s->run, 0));
      },
      [](std::unique_ptr<Step>& s) { s->check(); });
}

TEST_F(FailingHeapGraphC, Compile) {
  survive_each_allocation([] { return std::make_unique<Step>(); },
                          [](std::unique_ptr<Step>& s) {
                            s->run.reset();
                            s->run = compiled(s->graph, s->context);
                          },
                          [](std::unique_ptr<Step>& s) { s->check(); });
}

TEST_F(FailingHeapGraphC, Plan) {
  survive_each_allocation(
      [] { return std::make_unique<Step>(); },
      [](std::unique_ptr<Step>& s) {
        const char* text = nullptr;
        std::size_t bytes = 0;
        expect(mote_symbolic_plan(s->graph, nullptr, s->context, 0, &text, &bytes, nullptr));
      },
      [](std::unique_ptr<Step>& s) {
        s->run = compiled(s->graph, s->context);
        s->check();
      });
}

TEST_F(FailingHeapGraphC, BindRunAndOutput) {
  survive_each_allocation(
      [] {
        auto s = std::make_unique<Step>();
        s->run = compiled(s->graph, s->context);
        return s;
      },
      [](std::unique_ptr<Step>& s) {
        s->bind();
        expect(mote_executable_run(s->run));
        EXPECT_EQ(output_of(s->run, named(s->graph, "sums")).front(), 0);
        const TensorHandle two = made_tensor({2, 3}, 0.5);  // compiles for another shape
        expect(mote_executable_bind(s->run, named(s->graph, "x"), two));
        expect(mote_executable_run(s->run));
        // MOTE_REPORT_JSON is left out: a list of nlohmann::json without memory loses some.
        for (const int format : {MOTE_REPORT_TEXT, MOTE_REPORT_SVG, MOTE_REPORT_DOT}) {
          const char* text = nullptr;
          expect(mote_executable_report(s->run, format, &text));
        }
      },
      [](std::unique_ptr<Step>& s) { s->check(); });
}

struct Operations {
  TensorHandle x = made_tensor({4}, 1), y = made_tensor({4}, 0);
  CommandHandle neg;
  GraphHandle graph;
};

TEST_F(FailingHeapGraphC, GraphsOfOperations) {
  survive_each_allocation(
      [] { return std::make_unique<Operations>(); },
      [](std::unique_ptr<Operations>& o) {
        o->graph.set([](mote_graph** g) { return mote_graph_create(nullptr, 1, g); });
        o->neg.set([](mote_command** c) { return mote_command_parse("neg", c); });
        const mote_tensor* const inputs[] = {o->x};
        mote_tensor* const outputs[] = {o->y};
        mote_graph_node first = 7, second = 7;
        expect(mote_graph_fill(o->graph, o->x, 2, &first));
        expect(mote_graph_add(o->graph, o->neg, inputs, 1, outputs, 1, &second));
        EXPECT_EQ(second, first + 1);
        expect(mote_graph_find_order(o->graph));
        expect(mote_graph_run(o->graph));
        const char* text = nullptr;
        expect(mote_graph_dot(o->graph, &text));
      },
      [](std::unique_ptr<Operations>& o) {
        EXPECT_EQ(elements(o->y), std::vector<double>(4, -2));
      });
}

/// Parts, and runs that are given to a stream.
TEST_F(FailingHeapGraphC, RunsOfGraphsOfOperations) {
  struct Running : Operations {
    ContextHandle context = made_context();
    mote::test::StreamHandle stream;
    mote_graph_node first = 0;
    Running() {
      graph.set([&](mote_graph** g) { return mote_graph_create(context, 1, g); });
      neg.set([](mote_command** c) { return mote_command_parse("neg", c); });
      stream.set([&](mote_stream** s) { return mote_stream_create(context, s); });
      const mote_tensor* const inputs[] = {x};
      mote_tensor* const outputs[] = {y};
      expect(mote_graph_fill(graph, x, 2, &first));
      expect(mote_graph_add(graph, neg, inputs, 1, outputs, 1, nullptr));
      expect(mote_graph_find_order(graph));
      expect(mote_graph_run(graph));
    }
  };
  survive_each_allocation([] { return std::make_unique<Running>(); },
                          [](std::unique_ptr<Running>& r) {
                            mote_stream_synchronize(r->stream);  // the error of a run before
                            expect(mote_graph_run_part(r->graph, &r->first, 1, &r->first, 1));
                            expect(mote_graph_run_on(r->graph, r->stream));
                            expect(mote_stream_synchronize(r->stream));
                          },
                          [](std::unique_ptr<Running>& r) {
                            EXPECT_EQ(mote_stream_synchronize(r->stream), MOTE_OK);
                            EXPECT_EQ(elements(r->y), std::vector<double>(4, -2));
                          });
}

TEST_F(FailingHeapGraphC, Plans) {
  survive_each_allocation([] {
    const std::vector<mote_memory_block> blocks = {
        {1024, 64, 0, 2}, {512, 64, 1, 3}, {64, 64, 2, 4}};
    std::vector<std::uint64_t> offsets(blocks.size());
    std::uint64_t total = 0;
    expect(mote_plan_memory(blocks.data(), blocks.size(), offsets.data(), &total, nullptr));
    EXPECT_EQ(total, 1536U);
  });
}

}  // namespace
