// SPDX-License-Identifier: Apache-2.0
// Tests the shrinker on failures that are stated as conditions, so that the smallest case is known.
#include "mote/oracle/shrink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "mote/oracle/generate.h"
#include "shrink/steps.h"

namespace mote {
namespace {

std::int64_t size_of_case(const Case& c, const char* name) {
  return c.binding.values.at(Symbol(SymbolKind::size, name));
}

std::string smallest(const std::string& text, const std::function<bool(const Case&)>& fails) {
  const Case start = parse_case(text);
  EXPECT_TRUE(fails(start)) << text;
  const Shrunk shrunk = shrink(start, fails);
  EXPECT_TRUE(fails(shrunk.smallest));
  EXPECT_EQ(to_string(shrink(start, fails).smallest), to_string(shrunk.smallest));
  return to_string(shrunk.smallest);
}

TEST(Shrink, FindsTheSmallestSizeBesideTheOthersAtOne) {
  const auto tail = [](const Case& c) {
    const std::int64_t k = size_of_case(c, "K");
    return k > 8 && k % 8 != 0;
  };
  for (const char* start :
       {"gemm a=f32[57,61]:t:pad3 b=f32[61,130]:off2 c=f32[57,130] y=f32[57,130]:t alpha=2 beta=-1 "
        "fill=uniform:9f21",
        "gemm a=f32[1,1023] b=f32[1023,1]", "gemm a=f32[3,9] b=f32[9,1] fill=onehot:2"}) {
    EXPECT_EQ(smallest(start, tail), "gemm a=f32[1,9] b=f32[9,1] fill=index:0");
  }
}

TEST(Shrink, KeepsWhatTheFailureNeeds) {
  EXPECT_EQ(smallest("gemm a=f32[5,6]:t:pad3 b=f32[6,7]:pad2:off1 c=f32[5,7]:t alpha=2 beta=0.5",
                     [](const Case& c) { return c.inputs[1].layout.pad > 0; }),
            "gemm a=f32[1,1] b=f32[1,1]:pad1 fill=index:0");
  EXPECT_EQ(smallest("gemm a=f32[5,6] b=f32[6,7] c=f32[5,7]:t alpha=2 beta=0.5 fill=integer:5",
                     [](const Case& c) {
                       return c.inputs.size() == 3 && c.params.at("beta").real() != 1;
                     }),
            "gemm a=f32[1,1] b=f32[1,1] c=f32[1,1] beta=0 fill=index:0");
  EXPECT_EQ(smallest("gemm a=f32[5,6] b=f32[6,7] fill=integer:5",
                     [](const Case& c) { return c.fill.kind == FillKind::integer; }),
            "gemm a=f32[1,1] b=f32[1,1] fill=integer:0");
}

TEST(Shrink, GoesThroughDerivedSizes) {
  EXPECT_EQ(smallest("conv2d x=f32[3,6,20,31] w=f32[8,3,3,5] b=f32[8] groups=2 stride=2,3 "
                     "dilation=2,1 pads=1,2,0,3",
                     [](const Case& c) {
                       return c.params.at("stride1").integer() > 1 && c.outputs[0].shape[3] >= 3;
                     }),
            "conv2d x=f32[1,1,1,5] w=f32[1,1,1,1] stride=1,2 fill=index:0");
  EXPECT_EQ(smallest("max_pool2d x=f32[3,6,20,31] kernel=3,4 stride=2,2 pads=1,1,1,0",
                     [](const Case& c) {
                       return c.params.at("pads0").integer() > 0 && c.outputs[0].shape[2] > 0;
                     }),
            "max_pool2d x=f32[1,1,0,1] kernel=1,1 pads=1,0,0,0 fill=index:0");
}

/// A size that follows from others may keep its value although a smaller one was requested.
TEST(Shrink, RunsNoCaseTwiceAndEndsBeforeItsLimit) {
  const struct {
    const char* start;
    std::function<bool(const Case&)> fails;
  } failures[] = {
      {"conv2d.grad gy=f32[3,15,15,3] x=f32[3,3,13,5] w=f32[15,3,1,2] b=f32[15] stride=1,2 "
       "dilation=2,1 pads=2,1,0,1 fill=index:0",
       [](const Case& c) { return c.inputs.size() == 4 && size_of_case(c, "N") >= 2; }},
      {"conv_transpose2d x=f64[4,6,1,2] w=f64[6,3,4,1] stride=2,4 dilation=2,1 pads=0,0,3,3 "
       "groups=2 output_pad=0,1",
       [](const Case& c) { return c.params.at("pads2").integer() > 0; }},
  };
  for (const auto& [start, fails] : failures) {
    std::set<std::string> seen;
    const Shrunk shrunk = shrink(parse_case(start), [&, &fails = fails](const Case& c) {
      EXPECT_TRUE(seen.insert(to_string(c)).second) << to_string(c);
      return fails(c);
    });
    EXPECT_LT(shrunk.tries, ShrinkLimits{}.tries) << start;
    EXPECT_LE(input_elements(shrunk.smallest), 8) << to_string(shrunk.smallest);
  }
}

TEST(Shrink, SaysWhichSizesTheFailureNeeds) {
  const Shrunk shrunk =
      shrink(parse_case("gemm a=f32[64,64]:t b=f32[64,64]:t c=f32[64,64] fill=mean:1942"),
             [](const Case& c) {
               return size_of_case(c, "M") == 64 && size_of_case(c, "N") == 64 &&
                      size_of_case(c, "K") == 64;
             });
  EXPECT_EQ(shrunk.reason, "with less of M = 64 or K = 64 or N = 64 alone it does not fail");
}

TEST(Shrink, EveryCandidateIsLegal) {
  for (const char* op : {"conv2d", "max_pool2d", "argmax", "matmul", "layer_norm"}) {
    const Case start = generate(find_target(op), DType::f32, 4, 2);
    int offered = 0;
    shrink(start, [&](const Case& c) {
      ++offered;
      return to_string(parse_case(to_string(c))) == to_string(c) && offered % 3 == 0;
    });
    EXPECT_GT(offered, 5) << op;
  }
}

/// Returns the value that a set= gives, else 1, or 0 with fill=zeros.
double value_at(const Case& c, const char* tensor, const std::vector<std::int64_t>& index) {
  double v = c.fill.kind == FillKind::zeros ? 0 : 1;
  for (const SetElement& e : c.set)
    if (e.tensor == tensor && e.index == index) v = e.value.real();
  return v;
}

/// The case fails if two elements are both nonzero: only these two are left, with value 1.
TEST(Shrink, ClearsTheElementsThatTheFailureDoesNotNeed) {
  const auto fails = [&](const Case& c) {
    return size_of_case(c, "M") == 2 && size_of_case(c, "K") == 5 && size_of_case(c, "N") == 3 &&
           value_at(c, "a", {1, 2}) * value_at(c, "b", {2, 0}) != 0;
  };
  const Case start = parse_case("gemm a=f32[2,5] b=f32[5,3] fill=index:0");
  const Shrunk shrunk = shrink(start, fails);
  ASSERT_TRUE(shrunk.sparsest.has_value());
  EXPECT_EQ(to_string(*shrunk.sparsest),
            "gemm a=f32[2,5] b=f32[5,3] fill=zeros:0 set=a[1,2]=1;b[2,0]=1");
  const auto needs_most = [](const Case& c) { return c.set.size() > 20 || c.set.empty(); };
  EXPECT_FALSE(shrink(start, needs_most).sparsest);
}

/// If all except a few elements are 0, sizes shrink again, and elements move to the first index.
TEST(Shrink, GoesOnWithTheSizesOnceFewElementsAreLeft) {
  const auto holds = [](const Case& c, const std::function<bool(double)>& is) {
    if (c.fill.kind == FillKind::zeros)
      return std::ranges::any_of(c.set, [&](const SetElement& e) { return is(e.value.real()); });
    return size_of_case(c, "N") >= 7 && size_of_case(c, "R") >= 3;  // depends on the fill
  };
  EXPECT_EQ(
      smallest("logsumexp x=f32[9,30,4] fill=special:19",
               [&](const Case& c) {
                 return (c.fill.kind == FillKind::special || c.fill.kind == FillKind::zeros) &&
                        holds(c, [](double v) { return v != 0; });
               }),
      "logsumexp x=f32[1,1,1] fill=zeros:0 set=x[0,0,0]=1");
}

TEST(Shrink, SizesThatMustBeEqualShrinkTogether) {
  EXPECT_EQ(smallest("conv_transpose2d x=f32[1,9,1,1] w=f32[9,9,1,1] fill=uniform:1",
                     [](const Case& c) {
                       return size_of_case(c, "CI") == size_of_case(c, "CO") &&
                              size_of_case(c, "CI") >= 2;
                     }),
            "conv_transpose2d x=f32[1,2,1,1] w=f32[2,2,1,1] fill=index:0");
}

/// No single step leads from the end of shrinking to another failing case.
TEST(Shrink, EndsWhereNoStepSucceeds) {
  const std::vector<std::pair<const char*, std::function<bool(const Case&)>>> planted = {
      {"gemm a=f32[57,61]:t:pad3 b=f32[61,130]:off2 c=f32[57,130] alpha=2 beta=-1 fill=uniform:9",
       [](const Case& c) { return size_of_case(c, "K") > 8 && size_of_case(c, "K") % 8 != 0; }},
      {"gemm a=f32[20,21] b=f32[21,5] fill=integer:5",
       [](const Case& c) { return size_of_case(c, "M") * size_of_case(c, "K") >= 30; }},
      {"conv2d x=f32[3,6,20,31] w=f32[8,3,3,5] b=f32[8] groups=2 stride=2,3 dilation=2,1 "
       "pads=1,2,0,3",
       [](const Case& c) { return c.params.at("stride1").integer() > 1; }},
      {"conv_transpose2d x=f64[4,6,1,2] w=f64[6,3,4,1] stride=2,4 dilation=2,1 pads=0,0,3,3 "
       "groups=2 output_pad=0,1",
       [](const Case& c) { return c.params.at("pads2").integer() > 0; }},
      {"mod a=f32[1,2,3,8] b=f32[1,2,3,8] fill=special:7",
       [](const Case& c) {
         if (c.fill.kind != FillKind::zeros) return c.fill.kind == FillKind::special;
         return std::ranges::any_of(
             c.set, [](const SetElement& e) { return e.tensor == "b" && e.value.real() != 1; });
       }},
      {"add a=f32[5] b=f32[2,3,4,5] fill=uniform:1",
       [](const Case& c) { return c.fill.kind == FillKind::uniform || !c.set.empty(); }},
      {"attention q=f32[2,4,5,8] k=f32[2,2,7,8] v=f32[2,2,7,3] fill=integer:1", [](const Case& c) {
         return size_of_case(c, "S") == 7 || (c.params.at("causal").integer() == 1);
       }}};
  for (const auto& [text, fails] : planted) {
    const Case end = shrink(parse_case(text), fails).smallest;
    EXPECT_TRUE(fails(end)) << text;
    for (const ShrinkStep& step : shrink_steps(end, Search::thorough))
      step.run(end, [&, &fails = fails](const Case& next) {
        EXPECT_TRUE(!fails(next) || to_string(next) == to_string(end)) << step.name << "\n"
                                                                       << to_string(end) << "\n"
                                                                       << to_string(next);
        return false;
      });
  }
}

TEST(Shrink, SetElementsGoAlongWithTheSizes) {
  const auto fails = [](const Case& c) {
    return !c.set.empty() && c.set[0].index.at(1) == size_of_case(c, "K") - 1;
  };
  EXPECT_EQ(smallest("gemm a=f32[7,9]:t b=f32[9,3] fill=uniform:1 set=a[6,8]=64", fails),
            "gemm a=f32[1,1] b=f32[1,1] fill=index:0 set=a[0,0]=1");
}

TEST(Shrink, StopsAtItsLimits) {
  int tries = 0;
  const auto never = [&](const Case&) {
    ++tries;
    return false;
  };
  const Case start = parse_case("gemm a=f32[57,61]:t b=f32[61,130] c=f32[57,130]");
  EXPECT_EQ(shrink(start, never, {.tries = 5, .multiply_adds = 1e12}).tries, 5);
  EXPECT_EQ(tries, 5);
  EXPECT_EQ(shrink(start, never, {.tries = 100, .multiply_adds = 1000}).tries, 1);
}

/// A case of ties may fail only because of its -0.
TEST(Shrink, ListsElementsThatAreMinusZero) {
  int minus_zeros = 0;
  for (int seed = 0; seed < 16; ++seed) {
    const auto listed =
        with_elements_listed(parse_case("neg x=f32[1,1,1,64] fill=ties:" + std::to_string(seed)));
    ASSERT_TRUE(listed);
    for (const SetElement& e : listed->set) {
      const double value = e.value.as_real();
      EXPECT_TRUE(value != 0 || std::signbit(value));
      minus_zeros += value == 0 ? 1 : 0;
    }
    EXPECT_EQ(to_string(parse_case(to_string(*listed))), to_string(*listed));
  }
  EXPECT_GT(minus_zeros, 0);
}

}  // namespace
}  // namespace mote
