// SPDX-License-Identifier: Apache-2.0
// Tests what is left of a trace after each detach and each free, in the cases that the tests of
// NNC's dynamic graph count. NNC counts the tensors of its trace, here values with a name count
// too; and NNC's detach changes what was computed before, where detach() gives a new constant
// (docs/dynamic.md).
#include <gtest/gtest.h>

#include <string>

#include "graphs/dynamic/modes.h"
#include "mote/dynamic/dynamic_graph.h"

namespace mote {
namespace {

using test::all_of;
using test::elements_of;

/// Values and steps.
struct Counts {
  std::size_t values, steps;
  friend bool operator==(const Counts&, const Counts&) = default;
};
void PrintTo(const Counts& counts, std::ostream* to) {
  *to << counts.values << " values, " << counts.steps << " steps";
}

struct CountedTrace : testing::Test {
  Context context;
  DynamicGraph g{context};
  Variable x = g.variable(all_of({1}, 10));

  Counts counts() const { return {g.statistics().values, g.statistics().steps}; }
  Variable log_of(const Variable& v) { return g.run("log", {v}); }
  /// A step of one input, for NNC's 0.5·v, whose factor is a parameter.
  Variable minus(const Variable& v) { return g.run("neg", {v}); }
};

TEST_F(CountedTrace, AViewOfWhatIsAdded) {
  Variable z = g.constant(all_of({1}, 1.2));
  {
    const Variable y = x * z;
    const Variable seen = y.reshape({1});
    const Variable f = x * log_of(x) + seen;
    EXPECT_EQ(counts(), (Counts{7, 5}));
  }
  EXPECT_EQ(counts(), (Counts{2, 0}));
  x = {}, z = {};
  EXPECT_EQ(counts(), (Counts{0, 0}));
}

TEST_F(CountedTrace, TwoViewsOfATensorOfWhichOneIsWritten) {
  {
    const Variable y = g.zeros({DType::f64, {1}});
    Variable one = y.reshape({1}), other = y.reshape({1});
    other.assign(x * 1.2);
    const Variable f = x * log_of(x) + one;
    EXPECT_EQ(elements_of(one), elements_of(y));
  }
  x = {};
  g.trim();
  EXPECT_EQ(counts().steps, 0U);
}

TEST_F(CountedTrace, TwoPartsOfATensorAreWritten) {
  {
    const Variable z = g.variable(all_of({1}, 2));
    Variable y = g.zeros({DType::f64, {2}});
    Variable first = y.slice(0, 0, 1), second = y.slice(0, 1, 1);
    first.assign(z * 10), second.assign(z * 2);
    first = {}, second = {};  // before they are used
    const Variable f = x * y;
    EXPECT_EQ(elements_of(f), (std::vector<double>{200, 40}));
    EXPECT_EQ(elements_of(g.backward({f}, {z})[0]), (std::vector<double>{120}));
  }
  x = {};
  g.trim();
  EXPECT_EQ(counts().steps, 0U);
}

TEST_F(CountedTrace, TheGradientOfAViewWhoseTensorIsGone) {
  Variable y = g.variable(all_of({2}, 2));
  Variable view = y.reshape({2, 1});
  Variable f = x * view;
  x = {}, y = {};
  EXPECT_EQ(elements_of(g.backward({f}, {view})[0]), (std::vector<double>{10, 10}));
  view = {}, f = {};
  g.trim();
  EXPECT_EQ(counts().steps, 0U);
}

TEST_F(CountedTrace, ALogarithmIsDetached) {
  Variable y = log_of(x), z = minus(y);
  EXPECT_EQ(counts(), (Counts{3, 2}));
  EXPECT_TRUE(g.has_effect(x, z));
  y = y.detach();
  EXPECT_EQ(counts(), (Counts{4, 2}));  // NNC: 3 and 1
  EXPECT_TRUE(g.has_effect(x, z));      // NNC: it has none
  EXPECT_FALSE(g.has_effect(x, minus(y)));
  z = minus(y);  // what NNC's detach does to what was computed before
  EXPECT_EQ(counts(), (Counts{3, 0}));
  x = {};
  EXPECT_EQ(counts(), (Counts{2, 0}));  // NNC: 1 and 0; z needs no y, which still has a name
  y = {}, z = {};
  EXPECT_EQ(counts(), (Counts{0, 0}));
}

TEST_F(CountedTrace, ALogarithmIsDetachedWhoseArgumentIsGone) {
  Variable y = log_of(x), z = minus(y);
  x = {};
  EXPECT_EQ(counts(), (Counts{2, 1}));  // nothing can be asked of the logarithm
  y = y.detach();
  EXPECT_EQ(counts(), (Counts{2, 0}));  // NNC: 1 and 0; z has no other history either
  z = {};
  EXPECT_EQ(counts(), (Counts{1, 0}));
  y = {};
  EXPECT_EQ(counts(), (Counts{0, 0}));
}

TEST_F(CountedTrace, AFactorIsDetached) {
  Variable a = g.variable(all_of({1}, 5));
  Variable y = log_of(x), z = a * y;
  EXPECT_EQ(counts(), (Counts{4, 2}));
  y = y.detach();
  z = a * y;
  EXPECT_FALSE(g.has_effect(x, z));
  EXPECT_TRUE(g.has_effect(a, z));
  EXPECT_EQ(counts(), (Counts{4, 1}));  // NNC: 4 and 2, since y stays a function of x
  a = {}, x = {}, y = {}, z = {};
  EXPECT_EQ(counts(), (Counts{0, 0}));
}

TEST_F(CountedTrace, BothFactorsAreDetached) {
  Variable a = g.run("exp", {x}), y = log_of(x), z = a * y;
  EXPECT_EQ(counts(), (Counts{4, 3}));
  y = y.detach();
  z = a * y;
  EXPECT_TRUE(g.has_effect(x, z));  // through exp
  EXPECT_EQ(counts(), (Counts{4, 2}));
  a = a.detach();
  z = a * y;
  EXPECT_FALSE(g.has_effect(x, z));
  EXPECT_EQ(counts(), (Counts{4, 0}));
  a = {};
  EXPECT_EQ(counts(), (Counts{3, 0}));
  x = {}, y = {}, z = {};
  EXPECT_EQ(counts(), (Counts{0, 0}));
}

TEST_F(CountedTrace, WhatFollowsADetachedValueStays) {
  Variable y = log_of(x).detach(), z = g.variable(minus(y).value());
  Variable f = g.run("exp", {z});
  EXPECT_FALSE(g.has_effect(x, f));
  EXPECT_EQ(counts(), (Counts{4, 1}));
  f = {};
  EXPECT_EQ(counts(), (Counts{3, 0}));
  z = {};
  EXPECT_EQ(counts(), (Counts{2, 0}));
  y = {};
  EXPECT_EQ(counts(), (Counts{1, 0}));
  x = {};
  EXPECT_EQ(counts(), (Counts{0, 0}));
}

}  // namespace
}  // namespace mote
