// SPDX-License-Identifier: Apache-2.0
#include "variant_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mote/base/float16.h"

namespace mote::test {

// ---- sums

float forward(Row x) {
  float s = 0;
  for (const float v : x) s += v;
  return s;
}
float backward(Row x) {
  float s = 0;
  for (std::size_t k = x.size(); k-- > 0;) s += x[k];
  return s;
}
float pairwise(Row x) {
  if (x.empty()) return 0;
  if (x.size() == 1) return x[0];
  const std::size_t half = x.size() / 2;
  return pairwise(x.first(half)) + pairwise(x.subspan(half));
}
float lanes(Row x) {
  float lane[8] = {};
  for (std::size_t k = 0; k < x.size(); ++k) lane[k % 8] += x[k];
  return ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}
float blocked(Row x) {
  float s = 0;
  for (std::size_t k = 0; k < x.size(); k += 32)
    s += forward(x.subspan(k, std::min<std::size_t>(32, x.size() - k)));
  return s;
}
float kahan(Row x) {
  float s = 0, lost = 0;
  for (const float v : x) {
    const float y = v - lost, t = s + y;
    lost = (t - s) - y;
    s = t;
  }
  return s;
}
float in_double(Row x) {
  double s = 0;
  for (const float v : x) s += v;
  return static_cast<float>(s);
}
float but_the_last(Row x) { return x.empty() ? 0 : forward(x.first(x.size() - 1)); }
float f16_of(float v) { return static_cast<float>(from_f16(to_f16(v))); }
float bf16_of(float v) { return static_cast<float>(from_bf16(to_bf16(v))); }
float tf32_of(float v) {
  return std::isfinite(v)
             ? static_cast<float>(
                   std::nearbyint(std::ldexp(v, 11 - (v == 0 ? 0 : std::ilogb(v) + 1))) *
                   std::ldexp(1.0, (v == 0 ? 0 : std::ilogb(v) + 1) - 11))
             : v;
}
float in_f16(Row x) {
  float s = 0;
  for (const float v : x) s = f16_of(s + f16_of(v));
  return s;
}
float tf32_terms(Row x) {
  float s = 0;
  for (const float v : x) s += tf32_of(v);
  return s;
}

// ---- rows

Variant by_rows(std::string name, const RowOp& op, bool reduces) {
  return {std::move(name), [op, reduces](const Problem& p) {
            const auto n = static_cast<std::size_t>(p.columns), m = reduces ? 1 : n;
            Floats y(static_cast<std::size_t>(p.rows) * m);
            for (std::size_t r = 0; r < static_cast<std::size_t>(p.rows); ++r)
              op(Row(p.inputs[0]).subspan(r * n, n), std::span(y).subspan(r * m, m));
            return y;
          }};
}
Variant elementwise(std::string name, const std::function<float(float)>& f) {
  return by_rows(std::move(name), [f](Row x, std::span<float> y) {
    for (std::size_t k = 0; k < x.size(); ++k) y[k] = f(x[k]);
  });
}
float greatest(Row x) {
  float m = kLowest;
  for (const float v : x) m = std::max(m, v);
  return m;
}
Floats squares(Row x, float mean) {
  Floats s;
  for (const float v : x) s.push_back((v - mean) * (v - mean));
  return s;
}
Floats exps(Row x, float shift, float (*e)(float)) {
  Floats s;
  for (const float v : x) s.push_back(e(v - shift));
  return s;
}
float exp_libm(float v) { return std::exp(v); }
float exp_by_exp2(float v) {
  return static_cast<float>(std::exp2(static_cast<double>(v * 1.44269504F)));
}
float exp_bf16(float v) { return bf16_of(std::exp(v)); }
float exp_polynomial(float v) {
  if (std::isnan(v)) return v;
  if (v < -104) return 0;
  if (v > 89) return std::numeric_limits<float>::infinity();
  const float n = std::nearbyint(v * 1.44269504F);
  const float r = std::fma(n, -1.42860677e-6F, std::fma(n, -0.693145752F, v));
  float p = 1.0F / 5040;
  for (const float c : {1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F})
    p = std::fma(p, r, c);
  return static_cast<float>(std::ldexp(static_cast<double>(p), static_cast<int>(n)));
}

}  // namespace mote::test
