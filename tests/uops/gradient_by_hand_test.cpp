// SPDX-License-Identifier: Apache-2.0
// Tests gradients of matmul, conv2d, softmax and layer_norm against loops written by hand, bit for
// bit; and their text.
#include <gtest/gtest.h>

#include "caught.h"
#include "gradient_check.h"
#include "gradient_programs.h"
#include "mote/uops/gradient.h"

namespace mote {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

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
    EXPECT_EQ(gradients(kConvBody, {gy, x, w}, params), (Arrays{gx, gw}));
    int judged = 0;
    EXPECT_EQ(check_gradient({with_body(kConvBody), {x, w}, params}, 2, 5, &judged), "");
    EXPECT_EQ(judged, 4);
  }
}

const char* const kSoftmax = R"(
  input x f64[R, N]
  e = exp(x - stop_gradient(max[1 keep](x)))
  output y = e/sum[1 keep](e))";

TEST(Gradient, SoftmaxByHand) {
  // The rows have equal values: y = 1/4, and gx = y*(g - sum of g*y), all exact.
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
  // The rows are -s, +s about a whole mean: 1/sigma = 1/s exactly, since s is a power of 2 and eps
  // = 0.
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
  // beta is not needed for any of them.
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

TEST(Gradient, PrintsAndParsesBack) {
  for (const char* const text : {kConvBody, kSoftmax, kLayerNorm}) {
    Program p = with_body(text);
    for (int order = 0; order < 2; ++order) {
      p = gradient(p).program;
      EXPECT_TRUE(equal(p, parse_program(to_string(p)))) << to_string(p);
    }
  }
}

}  // namespace
}  // namespace mote
