// SPDX-License-Identifier: Apache-2.0
#include "graphs/compile/loop_values.h"

#include <gtest/gtest.h>

#include <cmath>

#include "mote/symbolic/compile.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/text.h"

namespace mote::test {

std::vector<TensorBinding> bindings_of(const SymbolicGraph& g, const Inputs& inputs) {
  std::vector<TensorBinding> bindings;
  for (const auto& [name, value] : inputs) bindings.emplace_back(g.find(name), value);
  return bindings;
}

void append(Numbers& numbers, const Tensor& x) {
  const std::int64_t count = x.element_count();
  const Tensor flat = clone(x).reshape({count});
  for (std::int64_t k = 0; k < count; ++k) numbers.push_back(flat.real_at({k}));
}

std::vector<Tensor> run_all_ways(const SymbolicGraph& g, const Inputs& inputs,
                                 std::size_t* copied) {
  const std::vector<TensorBinding> bindings = bindings_of(g, inputs);
  const std::vector<Tensor> expected = evaluate(g, bindings, g.outputs());
  Context context({.workers = 2});
  for (const bool in_place : {true, false})
    for (const bool poison : {false, true})
      for (const int streams : {1, 2})
        for (const MemoryMode memory : {MemoryMode::planned, MemoryMode::separate}) {
          Executable e = compile(
              g, {.streams = streams, .in_place = in_place, .memory = memory, .poison = poison},
              context);
          if (copied != nullptr) *copied = e.report().copied_bytes;
          for (int run = 0; run < 2; ++run) {
            e.run(bindings);
            for (std::size_t k = 0; k < expected.size(); ++k) {
              const Tensor got = e.output(g.outputs()[k]);
              const std::int64_t count = expected[k].element_count();
              for (std::int64_t i = 0; i < count; ++i) {
                const double a = expected[k].reshape({count}).real_at({i});
                const double b = clone(got).reshape({count}).real_at({i});
                EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b)))
                    << "output " << k << "[" << i << "] is " << b << " instead of " << a
                    << ", in place " << in_place << ", poison " << poison << ", streams " << streams
                    << ", separate " << (memory == MemoryMode::separate) << ", run " << run;
              }
            }
          }
        }
  return expected;
}

std::vector<Tensor> run_all_ways(const std::string& text, const Inputs& inputs,
                                 std::size_t* copied) {
  const SymbolicGraph g = parse_graph(text);
  verify(g);
  EXPECT_EQ(to_text(parse_graph(to_text(g))), to_text(g));
  return run_all_ways(g, inputs, copied);
}

Numbers values_of(const SymbolicGraph& g, const Inputs& inputs) {
  verify(g);
  const std::vector<TensorBinding> bindings = bindings_of(g, inputs);
  Numbers expected;
  for (const Tensor& x : evaluate(g, bindings, g.outputs())) append(expected, x);
  const SymbolicGraph read = parse_graph(to_text(g));
  Numbers of_text;
  for (const Tensor& x : evaluate(read, bindings_of(read, inputs), read.outputs()))
    append(of_text, x);
  EXPECT_EQ(of_text, expected);
  Context context;
  for (const int streams : {1, 2}) {
    Executable e = compile(g, {.streams = streams, .poison = streams == 1}, context);
    for (int run = 0; run < 2; ++run) {
      e.run(bindings);
      Numbers got;
      for (const TensorSymbol output : g.outputs()) append(got, e.output(output));
      EXPECT_EQ(got, expected) << streams << " streams, run " << run;
    }
  }
  EXPECT_EQ(tape_bytes().now, 0);
  return expected;
}

Numbers derivative(const std::string& text, const std::string& of, const std::string& x, int order,
                   const Inputs& inputs) {
  SymbolicGraph g = parse_graph(text);
  Symbols f = {g.find(of)};
  for (int k = 0; k < order; ++k) f = gradient(g, f, Symbols{g.find(x)});
  g.set_outputs(f);
  return values_of(g, inputs);
}

std::string loop_of(std::int64_t n, const std::string& function) {
  return "graph g(x f32[3], w f32[3]) -> (y)\n  y = while (x, w) counter {\n"
         "    graph step(x f32[3], w f32[3], c i64[]) -> (t, left)\n"
         "      n = constant i64[] [" +
         std::to_string(n) +
         "]\n      left = sub(n, c)\n"
         "      h = mul(x, w)\n      s = add(h, x)\n      t = " +
         function + "(s)\n  }\n";
}

std::string unrolled(std::int64_t n, const std::string& function) {
  std::string text = "graph g(x f32[3], w f32[3]) -> (y)\n";
  std::string x = "x";
  for (std::int64_t c = 0; c < n; ++c) {
    const std::string k = std::to_string(c);
    text += "  h" + k + " = mul(" + x + ", w)\n  s" + k + " = add(h" + k + ", " + x + ")\n";
    x = c + 1 == n ? "y" : "t" + k;
    text += "  " + x + " = " + function + "(s" + k + ")\n";
  }
  return text;
}

std::int64_t most_bytes(const SymbolicGraph& g, const Inputs& inputs) {
  Context context;
  Executable e = compile(g, {}, context);
  reset_tape_bytes();
  e.run(bindings_of(g, inputs));
  EXPECT_EQ(tape_bytes().now, 0);
  return tape_bytes().most;
}

}  // namespace mote::test
