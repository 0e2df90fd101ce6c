// SPDX-License-Identifier: Apache-2.0
#include "winograd_kernel.h"

#include <algorithm>
#include <cmath>

namespace mote::test {
namespace {

using Matrix = std::vector<std::vector<double>>;
using Block = std::vector<std::vector<float>>;

struct Matrices {
  Matrix b, g, a;
};

Matrices matrices(int m) {
  if (m == 2)
    return {{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
            {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
            {{1, 1, 1, 0}, {0, 1, -1, -1}}};
  const double s = 1.0 / 6, t = 1.0 / 12, u = 1.0 / 24;
  return {{{4, 0, -5, 0, 1, 0},
           {0, -4, -4, 1, 1, 0},
           {0, 4, -4, -1, 1, 0},
           {0, -2, -1, 2, 1, 0},
           {0, 2, -1, -2, 1, 0},
           {0, 4, 0, -5, 0, 1}},
          {{0.25, 0, 0}, {-s, -s, -s}, {-s, s, -s}, {u, t, s}, {u, -t, s}, {0, 0, 1}},
          {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}};
}

/// Computes matrix · x; each row is a sum of the terms whose entries are not 0.
template <typename T>
std::vector<std::vector<T>> times(const Matrix& matrix, const std::vector<std::vector<T>>& x,
                                  bool fused) {
  std::vector<std::vector<T>> y(matrix.size(), std::vector<T>(x.front().size(), T{0}));
  for (std::size_t r = 0; r < matrix.size(); ++r)
    for (std::size_t c = 0; c < x.front().size(); ++c)
      for (std::size_t k = 0; k < x.size(); ++k) {
        const T f = static_cast<T>(matrix[r][k]);
        if (f == 0) continue;
        y[r][c] = fused ? std::fma(f, x[k][c], y[r][c]) : y[r][c] + f * x[k][c];
      }
  return y;
}

template <typename T>
std::vector<std::vector<T>> turned(const std::vector<std::vector<T>>& x) {
  std::vector<std::vector<T>> y(x.front().size(), std::vector<T>(x.size()));
  for (std::size_t r = 0; r < x.size(); ++r)
    for (std::size_t c = 0; c < x.front().size(); ++c) y[c][r] = x[r][c];
  return y;
}

/// Computes matrix · x · matrixᵀ.
template <typename T>
std::vector<std::vector<T>> both(const Matrix& matrix, const std::vector<std::vector<T>>& x,
                                 const WinogradStyle& s) {
  if (s.columns_first) return turned(times(matrix, turned(times(matrix, x, s.fused)), s.fused));
  return times(matrix, turned(times(matrix, turned(x), s.fused)), s.fused);
}

Block transformed_weights(const Matrix& g, const Block& w, const WinogradStyle& s) {
  if (!s.weights_in_double) return both(g, w, s);
  std::vector<std::vector<double>> wide;
  for (const auto& row : w) wide.emplace_back(row.begin(), row.end());
  Block narrow;
  for (const auto& row : both(g, wide, s)) {
    auto& to = narrow.emplace_back();
    for (const double v : row) to.push_back(static_cast<float>(v));
  }
  return narrow;
}

class Convolution {
 public:
  Convolution(const std::vector<Array>& inputs, const std::vector<std::int64_t>& pads, int groups,
              const WinogradStyle& style)
      : x_(inputs[0]), w_(inputs[1]), pads_(pads), style_(style), all_(matrices(style.m)) {
    if (style.constant_off != 0) all_.a[1][1] *= 1 + style.constant_off;
    group_outputs_ = w_.shape[0] / groups;
    y_ = {x_.dtype,
          {x_.shape[0], w_.shape[0], x_.shape[2] + pads[0] + pads[2] - 2,
           x_.shape[3] + pads[1] + pads[3] - 2},
          {}};
    y_.values.resize(static_cast<std::size_t>(element_count(y_.shape)));
    bias_ = inputs.size() > 2 ? &inputs[2] : nullptr;
  }

  Array run() {
    const std::int64_t m = style_.m;
    for (std::int64_t n = 0; n < y_.shape[0]; ++n)
      for (std::int64_t co = 0; co < y_.shape[1]; ++co)
        for (std::int64_t h = 0; h < y_.shape[2]; h += m)
          for (std::int64_t w = 0; w < y_.shape[3]; w += m) tile(n, co, h, w);
    return y_;
  }

 private:
  float x_at(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) const {
    if (style_.last_tile_at_edge) h = std::min(h, x_.shape[2] - 1);
    if (h < 0 || w < 0 || h >= x_.shape[2] || w >= x_.shape[3]) return 0;
    return element(x_, ((n * x_.shape[1] + c) * x_.shape[2] + h) * x_.shape[3] + w);
  }
  static float element(const Array& a, std::int64_t at) {
    return static_cast<float>(a.values[static_cast<std::size_t>(at)].real());
  }

  void tile(std::int64_t n, std::int64_t co, std::int64_t h0, std::int64_t w0) {
    const auto t = static_cast<std::size_t>(style_.m) + 2;
    const std::int64_t channels = w_.shape[1], first = co / group_outputs_ * channels;
    Block sum(t, std::vector<float>(t, 0.0F));
    for (std::int64_t k = 0; k < channels; ++k) {
      const std::int64_t c = style_.backward ? channels - 1 - k : k;
      Block d(t, std::vector<float>(t)), g(3, std::vector<float>(3));
      for (std::size_t i = 0; i < t; ++i)
        for (std::size_t j = 0; j < t; ++j)
          d[i][j] =
              x_at(n, first + c, h0 + std::int64_t(i) - pads_[0], w0 + std::int64_t(j) - pads_[1]);
      for (std::size_t i = 0; i < 9; ++i)
        g[i / 3][i % 3] = element(w_, (co * channels + c) * 9 + std::int64_t(i));
      const Block v = both(all_.b, d, style_), u = transformed_weights(all_.g, g, style_);
      for (std::size_t i = 0; i < t; ++i)
        for (std::size_t j = 0; j < t; ++j)
          sum[i][j] =
              style_.fused ? std::fma(u[i][j], v[i][j], sum[i][j]) : sum[i][j] + u[i][j] * v[i][j];
    }
    store(n, co, h0, w0, both(all_.a, sum, style_));
  }

  void store(std::int64_t n, std::int64_t co, std::int64_t h0, std::int64_t w0, const Block& y) {
    for (std::int64_t p = 0; p < style_.m && h0 + p < y_.shape[2]; ++p)
      for (std::int64_t q = 0; q < style_.m && w0 + q < y_.shape[3]; ++q) {
        float v = y[static_cast<std::size_t>(p)][static_cast<std::size_t>(q)];
        if (bias_ != nullptr) v += element(*bias_, co);
        const std::int64_t at =
            ((n * y_.shape[1] + co) * y_.shape[2] + h0 + p) * y_.shape[3] + w0 + q;
        y_.values[static_cast<std::size_t>(at)] = store_as(double{v}, y_.dtype);
      }
  }

  const Array &x_, &w_;
  const std::vector<std::int64_t>& pads_;
  const WinogradStyle& style_;
  Matrices all_;
  std::int64_t group_outputs_ = 1;
  const Array* bias_ = nullptr;
  Array y_;
};

}  // namespace

Array winograd(const std::vector<Array>& inputs, const std::vector<std::int64_t>& pads, int groups,
               const WinogradStyle& style) {
  return Convolution(inputs, pads, groups, style).run();
}

}  // namespace mote::test
