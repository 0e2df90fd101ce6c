// SPDX-License-Identifier: Apache-2.0
// Tests conditions of failures with a known true condition: the text is true of cases that the
// search has not seen.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "diagnosis/find_condition.h"
#include "mote/oracle/generate.h"
#include "mote/oracle/shrink.h"

namespace mote::diagnosis {
namespace {

using Truth = std::function<bool(const Case&)>;

std::int64_t size(const Case& c, const char* name) {
  return c.binding.values.at(Symbol(SymbolKind::size, name));
}

const CaseTensor& input(const Case& c, const char* name) {
  return *std::ranges::find(c.inputs, name, &CaseTensor::name);
}

Contents data(const Case& c, const char* name) {
  for (const Contents& x : contents_of(c))
    if (x.tensor == name) return x;
  return {};
}

/// True for one case of n, always the same ones.
bool by_chance(const Case& c, std::uint64_t n) {
  std::uint64_t h = c.fill.seed;
  for (const char* name : {"M", "K", "N"}) h = mix(h ^ static_cast<std::uint64_t>(size(c, name)));
  return h % n == 0;
}

Outcome judged(bool fails) {
  Outcome o;
  o.verdict = fails ? Verdict::failed : Verdict::passed;
  return o;
}

WhereItFails found(const std::string& text, const Truth& fails) {
  const Case smallest = shrink(parse_case(text), fails).smallest;
  const Judge judge = [&](const Case& c) { return judged(fails(c)); };
  const Deadline never(std::numeric_limits<double>::infinity());
  return find_condition({smallest, judged(true), false, contents_of(smallest)},
                        samples(smallest, judge, never), judge, never);
}

/// Draws cases from another seed than the samples, also with the given sizes.
std::vector<Case> unseen(const std::string& text, const std::vector<std::int64_t>& extents) {
  const Case given = parse_case(text);
  std::vector<Case> all;
  for (std::uint64_t k = 0; k < 150; ++k) {
    const Case c = mote::generate(given.target, given.instance.dtype, 77, k);
    all.push_back(c);
    const std::size_t knobs = domain_of(c.program).knobs.size();
    for (std::size_t knob = 0; knob < knobs; ++knob) {
      Draft draft = to_draft(c);
      draft.at.values[knob] = extents[(k + knob) % extents.size()];
      if (auto next = to_case(draft)) {
        next->fill = c.fill;
        all.push_back(*std::move(next));
      }
    }
  }
  return all;
}

void expect_true(const WhereItFails& c, const std::string& text, const Truth& fails,
                 const std::vector<std::int64_t>& extents) {
  if (c.text.empty()) return;
  Share with, without;
  for (const Case& fresh : unseen(text, extents)) {
    const bool failed = fails(fresh);
    Share& share = c.holds(fresh) ? with : without;
    ++share.runs;
    share.failed += failed ? 1 : 0;
    EXPECT_TRUE(!c.necessary || c.holds(fresh) || !failed) << c.text << "\n" << to_string(fresh);
    EXPECT_TRUE(!c.exact || c.holds(fresh) == failed) << c.text << "\n" << to_string(fresh);
  }
  EXPECT_GT(with.failed * without.runs, without.failed * with.runs) << c.text;
}

const std::vector<std::int64_t> kAround1025 = {1, 2, 1023, 1024, 1025, 1026, 1030, 2050};
const std::vector<std::int64_t> kSmall = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 31, 32, 33};

struct Planted {
  const char* text;
  const char* condition;  ///< the condition that must be found; nullptr allows any true one
  Truth fails;
  std::vector<std::int64_t> extents = kSmall;
};

const std::vector<Planted>& planted() {
  static const std::vector<Planted> all = {
      {"softmax x=f32[1,2000,1]", "N >= 1025", [](const Case& c) { return size(c, "N") > 1024; },
       kAround1025},
      {"softmax x=f32[1,1025,1]", "N == 1025", [](const Case& c) { return size(c, "N") == 1025; },
       kAround1025},
      {"gemm a=f32[3,4] b=f32[4,5]", "M % 4 != 0",
       [](const Case& c) { return size(c, "M") % 4 != 0; }},
      {"gemm a=f32[3,16] b=f32[16,5]", "K % 8 == 0",
       [](const Case& c) { return size(c, "K") > 0 && size(c, "K") % 8 == 0; }},
      {"gemm a=f32[3,11] b=f32[11,5]", "K >= 9 and K % 8 != 0",
       [](const Case& c) { return size(c, "K") > 8 && size(c, "K") % 8 != 0; }},
      {"gemm a=f32[7,11] b=f32[11,7]", "M == N",
       [](const Case& c) { return size(c, "M") == size(c, "N") && size(c, "K") > 0; }},
      {"gemm a=f32[3,4] b=f32[4,5]", "M <= 6", [](const Case& c) { return size(c, "M") <= 6; }},
      {"neg x=f32[1,1,3,5]", "elements of y % 4 != 0",
       [](const Case& c) { return volume(c.outputs[0].shape) % 4 != 0; }},
      {"gemm a=f32[3,4] b=f32[4,5]:pad2", "gaps between the rows of b",
       [](const Case& c) { return input(c, "b").layout.pad > 0; }},
      {"gemm a=f32[3,4] b=f32[4,5] y=f32[3,5]:t", "stride of the last axis of y != 1",
       [](const Case& c) {
         return place(c.outputs[0].shape, c.outputs[0].layout).strides[1] != 1;
       }},
      {"gemm a=f32[3,4] b=f32[4,5] c=f32[3,5] beta=0.5", "beta != 1",
       [](const Case& c) { return c.inputs.size() == 3 && c.params.at("beta").as_real() != 1; }},
      {"conv2d x=f32[1,1,9,9] w=f32[1,1,1,1] stride=1,2", "stride0 != stride1",
       [](const Case& c) {
         return c.params.at("stride0").integer() != c.params.at("stride1").integer();
       }},
      {"max a=f32[1,1,2,4] b=f32[1,1,2,4] fill=uniform:1 set=a[0,0,1,2]=nan", "a holds NaN",
       [](const Case& c) { return data(c, "a").nan; }},
      {"relu x=f32[1,1,2,8] fill=uniform:1", "x holds a negative number",
       [](const Case& c) { return data(c, "x").negative; }},
      {"index_add x=f32[1,4,2] index=i64[6] updates=f32[1,6,2] set=index[1]=1;index[4]=1",
       "index holds a number twice", [](const Case& c) { return data(c, "index").twice; }},
      // These have two causes; one with a small probability; products.
      {"gemm a=f32[3,200] b=f32[200,5]", nullptr,
       [](const Case& c) { return size(c, "K") >= 100 || size(c, "M") == 3; }},
      {"gemm a=f32[3,4] b=f32[4,5] fill=index:0", nullptr,
       [](const Case& c) { return (size(c, "K") % 8 != 0) != by_chance(c, 16); }},
      {"softmax x=f32[2,40,3]", nullptr,
       [](const Case& c) { return size(c, "R") > 0 && size(c, "N") * size(c, "C") >= 100; }},
      {"conv2d x=f32[1,4,9,9] w=f32[4,2,3,3] groups=2 dilation=2,1", nullptr, [](const Case& c) {
         return c.params.at("groups").integer() >= 2 && c.params.at("dilation0").integer() >= 2;
       }}};
  return all;
}

TEST(Condition, IsTrueOfCasesThatWereNotSeen) {
  for (const Planted& p : planted()) {
    ASSERT_TRUE(p.fails(parse_case(p.text))) << p.text;
    const WhereItFails c = found(p.text, p.fails);
    if (p.condition != nullptr) {
      EXPECT_EQ(c.text, p.condition) << p.text;
      EXPECT_TRUE(c.necessary) << p.text;
    }
    expect_true(c, p.text, p.fails, p.extents);
  }
}

TEST(Condition, ChanceHasNone) {
  const WhereItFails c = found("gemm a=f32[3,4] b=f32[4,5] fill=integer:1",
                               [](const Case& of) { return by_chance(of, 5); });
  EXPECT_EQ(c.text, "");
}

// A condition may be about a dtype.
TEST(Condition, MaySpeakOfTheDtype) {
  const auto fails = [](const Case& c) { return c.instance.dtype == DType::f16; };
  const WhereItFails c = found("gemm a=f16[3,4] b=f16[4,5]", fails);
  EXPECT_EQ(c.text, "the dtype is f16");
  EXPECT_TRUE(c.exact);
}

}  // namespace
}  // namespace mote::diagnosis
