// The gradient of programs: values worked out by hand, what is pinned where there is no derivative,
// requests for parts of it, its text and its errors.
#include "mote/uops/gradient.h"

#include <gtest/gtest.h>

#include "caught.h"
#include "gradient_check.h"

namespace mote {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

using Arrays = std::vector<Array>;

Program with_body(const std::string& text) { return parse_program("op p\n" + text); }

/// The gradients of a program of one output, from gy and the inputs that they need.
Arrays gradients(const std::string& text, const Arrays& gy_and_inputs,
                 const std::map<std::string, Number>& params = {}) {
  return evaluate(gradient(with_body(text)).program, gy_and_inputs, params);
}

const char* const kX = "input x f64[N]\noutput y = ";
const char* const kXW = "input x f64[N]\ninput w f64[N]\noutput y = ";

// ---- what other systems got wrong

TEST(Gradient, ProductWithARepeatedFactor) {
  const Arrays g = gradients(std::string(kXW) + "x*x*w",
                             {f64({2}, {1, 10}), f64({2}, {3, 4}), f64({2}, {5, 7})});
  EXPECT_EQ(g.at(0), f64({2}, {30, 560}));  // 2*x*w
  EXPECT_EQ(g.at(1), f64({2}, {9, 160}));   // x*x
}

TEST(Gradient, DivisionOnBothSides) {
  const Arrays g =
      gradients(std::string(kXW) + "x/w", {f64({2}, {1, 8}), f64({2}, {12, 3}), f64({2}, {2, 4})});
  EXPECT_EQ(g.at(0), f64({2}, {0.5, 2}));
  EXPECT_EQ(g.at(1), f64({2}, {-3, -1.5}));  // -x/w^2
}

TEST(Gradient, FanOutSums) {
  EXPECT_EQ(
      gradients(std::string(kX) + "x + x*x", {f64({3}, {1, 1, 2}), f64({3}, {0, 3, -4})}).at(0),
      f64({3}, {1, 7, -14}));
  EXPECT_EQ(gradients(std::string(kX) + "x + x", {f64({1}, {3})}).at(0), f64({1}, {6}));
  EXPECT_EQ(gradients(std::string(kX) + "x - x", {f64({1}, {3})}).at(0), f64({1}, {0}));
}

TEST(Gradient, MaxAndMinWithTies) {
  const Array gy = f64({3}, {8, 8, 8}), x = f64({3}, {1, 2, 3}), w = f64({3}, {2, 2, 2});
  EXPECT_EQ(gradients(std::string(kXW) + "max(x, w)", {gy, x, w}),
            (Arrays{f64({3}, {0, 4, 8}), f64({3}, {8, 4, 0})}));
  EXPECT_EQ(gradients(std::string(kXW) + "min(x, w)", {gy, x, w}),
            (Arrays{f64({3}, {8, 4, 0}), f64({3}, {0, 4, 8})}));
  EXPECT_EQ(gradients(std::string(kX) + "min(max(x, 1), 3)", {gy, f64({3}, {0, 1, 2})}).at(0),
            f64({3}, {0, 4, 8}));
  EXPECT_EQ(gradients(std::string(kX) + "max(x, x)", {gy, x}).at(0), gy);
  EXPECT_EQ(gradients(std::string(kXW) + "max(x, w)",
                      {gy, f64({3}, {kNan, 1, 5}), f64({3}, {1, kNan, 1})}),
            (Arrays{f64({3}, {0, 0, 8}), f64({3}, {0, 0, 0})}));
}

TEST(Gradient, ReductionsWithTies) {
  const std::string head = "input x f64[N, M]\noutput y = ";
  const Array gy = f64({2}, {12, 12}), x = f64({2, 3}, {1, 5, 5, 7, 7, 7});
  EXPECT_EQ(gradients(head + "max[1](x)", {gy, x}).at(0), f64({2, 3}, {0, 6, 6, 4, 4, 4}));
  EXPECT_EQ(gradients(head + "min[1](x)", {gy, x}).at(0), f64({2, 3}, {12, 0, 0, 4, 4, 4}));
  EXPECT_EQ(gradients(head + "max[1](x)", {gy, f64({2, 3}, {1, kNan, 5, 7, 7, 7})}).at(0),
            f64({2, 3}, {0, 0, 0, 4, 4, 4}));
}

TEST(Gradient, ScattersWithTies) {
  // The last write, of 0, is out of range: it has no share, and no gradient.
  const std::string head =
      "input b f64[N]\ninput x f64[M]\noutput y = scatter[max](b, x to i0/2 + 1)";
  EXPECT_EQ(gradients(head, {f64({2}, {1, 12}), f64({2}, {7, 3}), f64({3}, {3, 3, 0})}),
            (Arrays{f64({2}, {1, 4}), f64({3}, {4, 4, 0})}));
}

TEST(Gradient, Mean) {
  EXPECT_EQ(gradients("input x f64[N, M]\noutput y = mean[1](x)",
                      {f64({2}, {8, 4}), f64({2, 4}, std::vector<double>(8))})
                .at(0),
            f64({2, 4}, {2, 2, 2, 2, 1, 1, 1, 1}));
}

TEST(Gradient, MaxByArgmaxAndSelectTakesTheFirst) {
  const std::string text = "input x f64[N, M]\nn = argmax[1 keep](x)\noutput y = select[1](x, n)";
  EXPECT_EQ(gradients(text, {f64({2, 1}, {3, 4}), f64({2, 3}, {1, 5, 5, 7, 7, 7})}).at(0),
            f64({2, 3}, {0, 3, 0, 4, 0, 0}));
}

// ---- where

TEST(Gradient, TheUntakenBranchStaysOut) {
  const Array gy = f64({3}, {1, 1, 1}), x = f64({3}, {-1, 0, 4});
  EXPECT_EQ(gradients(std::string(kX) + "where(x > 0, log(x), 3*x)", {gy, x}).at(0),
            f64({3}, {3, 3, 0.25}));
  EXPECT_EQ(gradients(std::string(kX) + "where(x <= 0, 0, x/(x*sqrt(x)))", {gy, x}).at(0),
            f64({3}, {0, 0, -1.0 / 16}));
  // Two users of the same log, neither of which takes it; and an inner where.
  EXPECT_EQ(
      gradients(std::string(kX) + "where(x > 0, log(x), 1) + where(x > 3, 2*log(x), x)", {gy, x})
          .at(0),
      f64({3}, {1, 1, 0.75}));
  EXPECT_EQ(
      gradients(std::string(kX) + "where(x > 0, where(x > 9, log(x), sqrt(x)), x)", {gy, x}).at(0),
      f64({3}, {1, 1, 0.25}));
}

TEST(Gradient, TheUntakenBranchStaysOutOfReductionsAndBroadcasts) {
  const std::string text = R"(
    input x f64[N]
    input w f64[M]
    l = log(x)
    seen = iota(i0 over N, M) >= 1
    output y = sum[0](where(seen, l[i0 over N, M]*w[i1 over N, M], 0)))";
  EXPECT_EQ(gradients(text, {f64({2}, {1, 1}), f64({3}, {0, 1, 2}), f64({2}, {8, 4})}).at(0),
            f64({3}, {0, 12, 6}));
  EXPECT_EQ(
      gradients("input x f64[N]\noutput y = where(iota(i0 over N) < 2, sum[0](log(x))[over N], 0)",
                {f64({3}, {1, 1, 1}), f64({3}, {1, 2, 4})})
          .at(0),
      f64({3}, {2, 1, 0.5}));
}

TEST(Gradient, StopsWhereItIsTold) {
  EXPECT_EQ(gradients(std::string(kX) + "x*stop_gradient(x) + floor(x) + sign(x) + f64(i64(x))",
                      {f64({2}, {1, 1}), f64({2}, {3, -5})})
                .at(0),
            f64({2}, {3, -5}));
}

TEST(Gradient, PowAtZero) {
  const Arrays g =
      gradients(std::string(kXW) + "pow(x, w)",
                {f64({4}, {1, 1, 1, 1}), f64({4}, {0, 0, 0, 2}), f64({4}, {0, 1, 2, 3})});
  EXPECT_EQ(g.at(0), f64({4}, {0, 1, 0, 12}));
  EXPECT_EQ(values_of(g.at(1))[0], 0);
  EXPECT_EQ(values_of(g.at(1))[1], 0);
  EXPECT_EQ(values_of(g.at(1))[3], 8 * std::log(2.0));
  EXPECT_EQ(gradients(std::string(kX) + "pow(x, 2)", {f64({2}, {1, 1}), f64({2}, {0, 3})}).at(0),
            f64({2}, {0, 6}));
}

// ---- worked out by hand, bit for bit

Array whole(const std::vector<std::int64_t>& shape, std::uint64_t seed) {
  Array a = random_array(DType::f64, shape, seed);
  for (Number& n : a.values) n = Number(std::floor(n.real() * 4));
  return a;
}
double at(const Array& a, const std::vector<std::int64_t>& i) {
  std::int64_t n = 0;
  for (std::size_t k = 0; k < i.size(); ++k) n = n * a.shape[k] + i[k];
  return a.values.at(static_cast<std::size_t>(n)).real();
}

TEST(Gradient, MatmulByHand) {
  const std::int64_t M = 3, K = 4, N = 2;
  const Array gy = whole({M, N}, 1), a = whole({M, K}, 2), b = whole({K, N}, 3);
  Array ga = whole({M, K}, 0), gb = whole({K, N}, 0);
  for (std::int64_t k = 0; k < K; ++k) {
    for (std::int64_t m = 0; m < M; ++m) {
      double sum = 0;
      for (std::int64_t n = 0; n < N; ++n) sum += at(gy, {m, n}) * at(b, {k, n});
      ga.values[static_cast<std::size_t>(m * K + k)] = sum;
    }
    for (std::int64_t n = 0; n < N; ++n) {
      double sum = 0;
      for (std::int64_t m = 0; m < M; ++m) sum += at(gy, {m, n}) * at(a, {m, k});
      gb.values[static_cast<std::size_t>(k * N + n)] = sum;
    }
  }
  EXPECT_EQ(gradients(R"(
    input a f64[M, K]
    input b f64[K, N]
    output y = sum[2](a[i0, i2 over M, N, K]*b[i2, i1 over M, N, K]))",
                      {gy, a, b}),
            (Arrays{ga, gb}));
}

// Rows and columns differ in everything; groups of channels.
const char* const kConv = R"(
  param groups int = 1 in 1..
  param sh int = 1 in 1..
  param sw int = 1 in 1..
  param dh int = 1 in 1..
  param dw int = 1 in 1..
  param ph int = 0
  param pw int = 0
  input x f64[N, ci: $groups*CG, H, W]
  input w f64[co: $groups*CO, CG, KH, KW]
  size OH = (H + 2*$ph - $dh*(KH - 1) - 1)/$sh + 1
  size OW = (W + 2*$pw - $dw*(KW - 1) - 1)/$sw + 1
  h = iota(i2*$sh + i5*$dh - $ph over N, co: $groups*CO, OH, OW, CG, KH, KW)
  v = iota(i3*$sw + i6*$dw - $pw over N, co: $groups*CO, OH, OW, CG, KH, KW)
  hs = iota(H over N, co: $groups*CO, OH, OW, CG, KH, KW)
  ws = iota(W over N, co: $groups*CO, OH, OW, CG, KH, KW)
  taps = x[i0, i1/CO*CG + i4, i2*$sh + i5*$dh - $ph, i3*$sw + i6*$dw - $pw over N, co: $groups*CO, OH, OW, CG, KH, KW]
  kernel = w[i1, i4, i5, i6 over N, co: $groups*CO, OH, OW, CG, KH, KW]
  output y = sum[4, 5, 6](where(h >= 0 && h < hs && v >= 0 && v < ws, taps*kernel, 0)))";

struct Conv {
  std::int64_t groups, sh, sw, dh, dw, ph, pw, H, W;
  std::int64_t N = 2, CG = 2, CO = 3, KH = 3, KW = 2;
};

TEST(Gradient, Conv2dByHand) {
  for (const Conv& c : {Conv{1, 1, 1, 1, 1, 0, 0, 4, 3}, Conv{2, 2, 1, 1, 2, 1, 2, 5, 4},
                        Conv{1, 3, 2, 2, 1, 2, 0, 6, 5}, Conv{3, 2, 3, 2, 3, 3, 3, 4, 7}}) {
    const std::int64_t OH = (c.H + 2 * c.ph - c.dh * (c.KH - 1) - 1) / c.sh + 1;
    const std::int64_t OW = (c.W + 2 * c.pw - c.dw * (c.KW - 1) - 1) / c.sw + 1;
    const Array x = whole({c.N, c.groups * c.CG, c.H, c.W}, 1);
    const Array w = whole({c.groups * c.CO, c.CG, c.KH, c.KW}, 2);
    const Array gy = whole({c.N, c.groups * c.CO, OH, OW}, 3);
    Array gx = x, gw = w;
    for (Number& n : gx.values) n = 0.0;
    for (Number& n : gw.values) n = 0.0;
    const auto add = [](Array& a, const std::vector<std::int64_t>& i, double value) {
      std::int64_t n = 0;
      for (std::size_t k = 0; k < i.size(); ++k) n = n * a.shape[k] + i[k];
      a.values.at(static_cast<std::size_t>(n)) = at(a, i) + value;
    };
    for (std::int64_t n = 0; n < c.N; ++n)
      for (std::int64_t co = 0; co < c.groups * c.CO; ++co)
        for (std::int64_t oh = 0; oh < OH; ++oh)
          for (std::int64_t ow = 0; ow < OW; ++ow)
            for (std::int64_t cg = 0; cg < c.CG; ++cg)
              for (std::int64_t kh = 0; kh < c.KH; ++kh)
                for (std::int64_t kw = 0; kw < c.KW; ++kw) {
                  const std::int64_t ci = co / c.CO * c.CG + cg;
                  const std::int64_t h = oh * c.sh + kh * c.dh - c.ph;
                  const std::int64_t v = ow * c.sw + kw * c.dw - c.pw;
                  if (h < 0 || h >= c.H || v < 0 || v >= c.W) continue;
                  const double g = at(gy, {n, co, oh, ow});
                  add(gx, {n, ci, h, v}, g * at(w, {co, cg, kh, kw}));
                  add(gw, {co, cg, kh, kw}, g * at(x, {n, ci, h, v}));
                }
    const std::map<std::string, Number> params = {{"groups", c.groups}, {"sh", c.sh}, {"sw", c.sw},
                                                  {"dh", c.dh},         {"dw", c.dw}, {"ph", c.ph},
                                                  {"pw", c.pw}};
    EXPECT_EQ(gradients(kConv, {gy, x, w}, params), (Arrays{gx, gw}));
    int judged = 0;
    EXPECT_EQ(check_gradient({with_body(kConv), {x, w}, params}, 2, 5, &judged), "");
    EXPECT_EQ(judged, 4);
  }
}

const char* const kSoftmax = R"(
  input x f64[R, N]
  e = exp(x - stop_gradient(max[1 keep](x)))
  output y = e/sum[1 keep](e))";

TEST(Gradient, SoftmaxByHand) {
  // Rows of equal values: y = 1/4, and gx = y*(g - sum of g*y), all exact.
  const Array gy = whole({2, 4}, 1), x = f64({2, 4}, {3, 3, 3, 3, -1, -1, -1, -1});
  Array gx = gy;
  for (std::int64_t r = 0; r < 2; ++r)
    for (std::int64_t n = 0; n < 4; ++n) {
      double sum = 0;
      for (std::int64_t k = 0; k < 4; ++k) sum += at(gy, {r, k}) / 4;
      gx.values[static_cast<std::size_t>(r * 4 + n)] = (at(gy, {r, n}) - sum) / 4;
    }
  EXPECT_EQ(gradients(kSoftmax, {gy, x}).at(0), gx);
  int judged = 0;
  EXPECT_EQ(
      check_adjoint({with_body(kSoftmax), {random_array(DType::f64, {3, 5}, 2)}, {}}, 1).agrees,
      true);
  EXPECT_EQ(check_gradient({with_body(kSoftmax), {random_array(DType::f64, {3, 5}, 2)}, {}}, 3, 1,
                           &judged),
            "");
  EXPECT_EQ(judged, 6);
}

const char* const kLayerNorm = R"(
  param eps real = 1e-5
  input x f64[R, N]
  input gamma f64[N]
  input beta f64[N]
  d = x - mean[1 keep](x)
  output y = d*rsqrt(mean[1 keep](d*d) + $eps)*gamma[i1 over R, N] + beta[i1 over R, N])";

TEST(Gradient, LayerNormByHand) {
  // Rows of -s, +s about a whole mean: 1/sigma = 1/s exactly, with s a power of 2 and eps = 0.
  const Array x = f64({2, 4}, {4, 6, 6, 4, -5, -1, -5, -1});
  const Array gy = whole({2, 4}, 1), gamma = f64({4}, {1, 2, 4, -2}), beta = f64({4}, {0, 1, 2, 3});
  Array gx = gy, ggamma = f64({4}, {0, 0, 0, 0}), gbeta = ggamma;
  for (std::int64_t r = 0; r < 2; ++r) {
    const double mean = r == 0 ? 5 : -3, sigma = r == 0 ? 1 : 2;
    double g_mean = 0, g_dot = 0;
    for (std::int64_t n = 0; n < 4; ++n) {
      const double g = at(gy, {r, n}) * at(gamma, {n}), d = (at(x, {r, n}) - mean) / sigma;
      g_mean += g / 4;
      g_dot += g * d / 4;
      const auto k = static_cast<std::size_t>(n);
      ggamma.values[k] = ggamma.values[k].real() + at(gy, {r, n}) * d;
      gbeta.values[k] = gbeta.values[k].real() + at(gy, {r, n});
    }
    for (std::int64_t n = 0; n < 4; ++n) {
      const double g = at(gy, {r, n}) * at(gamma, {n}), d = (at(x, {r, n}) - mean) / sigma;
      gx.values[static_cast<std::size_t>(r * 4 + n)] = (g - g_mean - d * g_dot) / sigma;
    }
  }
  // beta is not needed for any of them
  EXPECT_EQ(gradients(kLayerNorm, {gy, x, gamma}, {{"eps", 0.0}}), (Arrays{gx, ggamma, gbeta}));
  int judged = 0;
  EXPECT_EQ(check_gradient({with_body(kLayerNorm),
                            {random_array(DType::f64, {2, 5}, 2), random_array(DType::f64, {5}, 3),
                             random_array(DType::f64, {5}, 4)},
                            {}},
                           2, 1, &judged),
            "");
  EXPECT_EQ(judged, 4);
}

// ---- requests

TEST(Gradient, NeedsOnlyWhatItReads) {
  const Program p = with_body(std::string(kXW) + "tanh(x)*w");
  const Gradient both = gradient(p);
  EXPECT_EQ(both.inputs, (std::vector{Need::value, Need::value}));
  EXPECT_EQ(both.gradients, (std::vector{Need::value}));
  const Gradient w =
      gradient(p, {.wrt = {"w"}, .from = {}, .inputs = {{"x"}}, .outputs = {}, .name = "g"});
  EXPECT_EQ(w.inputs, (std::vector{Need::value, Need::none}));
  EXPECT_EQ(to_string(w.program),
            "op g\ninput gy f64[N]\ninput x f64[N]\noutput gw = gy*tanh(x)\n");
}

TEST(Gradient, TakesShapesFromInputsThatItDoesNotRead) {
  const std::string text = "input x f64[N]\noutput y = x[2*i0 over N/2]";
  const Gradient g = gradient(with_body(text));
  EXPECT_EQ(g.inputs, std::vector{Need::shape});
  EXPECT_EQ(evaluate(g.program, {f64({2}, {3, 4}), f64({5}, {0, 0, 0, 0, 0})}, {}).at(0),
            f64({5}, {3, 0, 4, 0, 0}));
  EXPECT_EQ(gradient(with_body(std::string(kX) + "x*2")).inputs, std::vector{Need::none});
}

TEST(Gradient, KnowsSizesAsWellAsTheProgram) {
  // C follows from v even where A is 0.
  const Gradient g = gradient(
      with_body(
          "input v f64[C]\ninput w f64[A, A*C]\noutput y = sum[1](w*w)\noutput z = sum[0](v)"),
      {.wrt = {"w"}, .from = {}, .inputs = {}, .outputs = {}, .name = {}});
  EXPECT_EQ(g.inputs, (std::vector{Need::shape, Need::value}));
  EXPECT_EQ(evaluate(g.program, {f64({0}, {}), f64({3}, {0, 0, 0}), f64({0, 0}, {})}, {}).at(0),
            f64({0, 0}, {}));
}

TEST(Gradient, ReadsOutputsThatAreGiven) {
  const Program p = with_body(std::string(kX) + "tanh(x)");
  const Gradient g =
      gradient(p, {.wrt = {}, .from = {}, .inputs = {}, .outputs = {"y"}, .name = {}});
  EXPECT_EQ(g.inputs, std::vector{Need::none});
  EXPECT_EQ(g.outputs, std::vector{Need::value});
  EXPECT_EQ(to_string(g.program),
            "op p.grad\ninput gy f64[N]\ninput y f64[N]\noutput gx = gy*(1 - y*y)\n");
  // An f32 maximum of doubles is not among them any more; that of f32 values is.
  const auto maximum = [](const std::string& of) {
    return gradient(with_body("input x f32[N]\noutput y = max[0](" + of + ")"),
                    {.wrt = {}, .from = {}, .inputs = {}, .outputs = {"y"}, .name = {}})
        .outputs[0];
  };
  EXPECT_EQ(maximum("exp(x)"), Need::none);
  EXPECT_EQ(maximum("x"), Need::value);
}

TEST(Gradient, OfSeveralOutputsSums) {
  const std::string text =
      "input x f64[N]\noutput y = x*x\noutput z = 3*x\noutput n = argmax[0](x)";
  const Program p = with_body(text);
  EXPECT_EQ(evaluate(gradient(p).program, {f64({1}, {1}), f64({1}, {10}), f64({1}, {5})}, {}).at(0),
            f64({1}, {40}));
  const Gradient z =
      gradient(p, {.wrt = {}, .from = {"z"}, .inputs = {}, .outputs = {}, .name = {}});
  EXPECT_EQ(z.gradients, (std::vector{Need::none, Need::value, Need::none}));
  EXPECT_EQ(evaluate(z.program, {f64({1}, {10})}, {}).at(0), f64({1}, {30}));
}

TEST(Gradient, IsZeroWhereNothingFlows) {
  const std::string text = "input x f64[N]\ninput w f64[M]\noutput y = x";
  const Gradient g = gradient(with_body(text));
  EXPECT_EQ(g.inputs, (std::vector{Need::none, Need::shape}));
  EXPECT_EQ(evaluate(g.program, {f64({1}, {7}), f64({2}, {1, 2})}, {}),
            (Arrays{f64({1}, {7}), f64({2}, {0, 0})}));
}

TEST(Gradient, OfRepeatingAxesIsFull) {
  const std::string text = "input x f64[N]\ninput b f64[1|N]\noutput y = x*b";
  EXPECT_EQ(gradients(text, {f64({2}, {1, 10}), f64({2}, {3, 4}), f64({1}, {5})}),
            (Arrays{f64({2}, {5, 50}), f64({2}, {3, 40})}));
}

TEST(Gradient, NamesThatAreTaken) {
  const std::string text = "input e f64[N]\ninput gy f64[N]\noutput y1 = e*gy\noutput y = e";
  const Gradient g = gradient(with_body(text));
  EXPECT_EQ(to_string(g.program),
            "op p.grad\ninput gy1_ f64[N]\ninput gy_ f64[N]\ninput e f64[N]\ninput gy f64[N]\n"
            "output ge_ = gy_ + gy1_*gy\noutput ggy = gy1_*e\n");
}

TEST(Gradient, PrintsAndParsesBack) {
  for (const char* const text : {kConv, kSoftmax, kLayerNorm}) {
    Program p = with_body(text);
    for (int order = 0; order < 2; ++order) {
      p = gradient(p).program;
      EXPECT_TRUE(equal(p, parse_program(to_string(p)))) << to_string(p);
    }
  }
}

TEST(Gradient, SaysWhatDoesNotFit) {
  const Program p = with_body("input x f32[N]\ninput n i64[N]\noutput y = x*x\noutput m = n");
  const auto refused = [&](const GradientRequest& r) { return error_of([&] { gradient(p, r); }); };
  EXPECT_EQ(refused({.wrt = {"n"}, .from = {}, .inputs = {}, .outputs = {}, .name = {}}),
            "p.grad: input n is i64[N], which has no gradient");
  EXPECT_EQ(refused({.wrt = {"q"}, .from = {}, .inputs = {}, .outputs = {}, .name = {}}),
            "p.grad: there is no input q (known: x, n)");
  EXPECT_EQ(refused({.wrt = {"x", "x"}, .from = {}, .inputs = {}, .outputs = {}, .name = {}}),
            "p.grad: input x is given twice");
  EXPECT_EQ(refused({.wrt = {}, .from = {"m"}, .inputs = {}, .outputs = {}, .name = {}}),
            "p.grad: output m is i64[N], which has no gradient");
  EXPECT_EQ(refused({.wrt = {}, .from = {}, .inputs = {{"n"}}, .outputs = {}, .name = {}}),
            "p.grad: needs the value of input x, which is not given");
  EXPECT_EQ(error_of([&] { gradient(with_body("input n i64[N]\noutput y = n")); }),
            "p.grad: no input is real, so that there is no gradient");
}

// ---- order

TEST(Gradient, OrderThreeOfAChain) {
  int judged = 0;
  const Program p = with_body(std::string(kXW) + "tanh(x*w)*exp(-(x*x)) + sin(x)/(w*w + 1)");
  const Arrays data = {random_array(DType::f64, {5}, 1), random_array(DType::f64, {5}, 2)};
  EXPECT_EQ(check_gradient({p, data, {}}, 3, 1, &judged), "");
  EXPECT_EQ(judged, 6);
}

TEST(Gradient, DeepProgramsAreRefusedNotCrashed) {
  Uop y = input("x", DType::f64, {"N"});
  const Uop x = y;
  for (int k = 0; k < kMaxDepth - 1; ++k) y = map(MapOp::sin, std::vector<Uop>{y});
  ProgramSpec spec;
  spec.name = "deep";
  spec.inputs = {x};
  spec.outputs = {{"y", y}};
  const Program p = make_program(std::move(spec));
  EXPECT_NE(error_of([&] { gradient(p); }).find("a chain of 1001 nodes, more than 1000"),
            std::string::npos);
}

}  // namespace
}  // namespace mote
