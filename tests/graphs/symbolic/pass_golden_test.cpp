// SPDX-License-Identifier: Apache-2.0
// Compares the text of a graph before and after each pass, and the passes' sentences, with goldens.
#include <gtest/gtest.h>

#include "mote/symbolic/text.h"
#include "pass_case.h"
#include "support/golden.h"

namespace mote {
namespace {

void expect_golden_of(const std::string& pass, const std::string& text) {
  SymbolicGraph g = parse_graph(text);
  const std::string before = to_text(g);
  const std::string report = test::apply_and_compare(g, {pass});
  test::expect_golden(find_pass(pass).summary + "\n\n" + before + "\n" + report + "\n\n" +
                      to_text(g));
}

TEST(PassGolden, Prune) {
  expect_golden_of("prune", R"(graph g(x f32[4,6], gamma f32[6], beta f32[6]) -> (z)
  dead = exp(x)
  y, row_mean, row_inv_std = layer_norm_with_statistics(x, gamma, beta)
  first = sin(y)
  late = relu(dead) after first
  part = late.slice(0, 0, 2, 1)
  z = cos(y) after late
)");
}

TEST(PassGolden, Merge) {
  expect_golden_of("merge", R"(graph g(x f32[2,2,1,1]) -> (y, second)
  c = constant f32[2,1,1] [1, 2]
  d = constant f32[2,1,1] [1, 2]
  a = mul(x, c)
  b = mul(x, d)
  u = a.permute(1, 0, 2, 3)
  v = b.permute(1, 0, 2, 3)
  first = sin(u)
  second = sin(v)
  m, mask = dropout(first, seed=3)
  n, mask2 = dropout(second, seed=3)
  y = add(m, n)
)");
}

TEST(PassGolden, Fold) {
  expect_golden_of("fold", R"(graph g(x f32[2,2]) -> (y, e)
  c = constant f32[2,2] [1, 2, 3, 4]
  t = c.permute(1, 0)
  half = fill(f32[2,2], 0.5)
  s = mul(t, half)
  y = add(x, s)
  e = neg(s)
)");
}

TEST(PassGolden, Cancel) {
  expect_golden_of("cancel", R"(graph g(x f32[2,3]) -> (y, z, w)
  a = copy(x, f64[2,3])
  b = copy(a, f32[2,3])
  y = sin(b)
  c = transpose(x)
  d = c.permute(1, 0)
  e = copy(d, f32[2,3])
  z = cos(e)
  h = copy(x, f16[2,3])
  k = copy(h, f32[2,3])
  n = neg(k)
  o = neg(n)
  w = exp(o)
)");
}

TEST(PassGolden, Replace) {
  expect_golden_of("replace", R"(graph g(x f32[1,2,5,5], w f32[3,2,3,3], b f32[3]) -> (y, z)
  h = conv2d(x, w, b, stride0=2, pads1=1)
  y = relu(h)
  k = conv2d(x, w)
  r = relu(k)
  z = add(k, r)
)");
}

}  // namespace
}  // namespace mote
