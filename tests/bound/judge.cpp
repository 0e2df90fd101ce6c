// SPDX-License-Identifier: Apache-2.0
#include "judge.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <random>

namespace mote::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

bool accepts(const Number& lo, const Number& hi, const Number& y, DType dtype) {
  if (!is_real(dtype)) return lo.integer() <= y.integer() && y.integer() <= hi.integer();
  if (lo.real() == -kInf && hi.real() == kInf) return true;
  if (std::isnan(lo.real()) || std::isnan(y.real()))
    return std::isnan(lo.real()) && std::isnan(hi.real()) && std::isnan(y.real());
  return store_as(lo, dtype).real() <= y.real() && y.real() <= store_as(hi, dtype).real();
}

bool is_open(const Number& lo, const Number& hi, DType dtype) {
  if (is_real(dtype)) return lo.real() == -kInf && hi.real() == kInf;
  const IntegerRange range = integer_range(dtype);
  return range.least != range.greatest && lo.integer() == range.least &&
         hi.integer() == range.greatest;
}

/// Returns the error as a share of the distance from the reference to the bound's end.
double share(const Number& lo, const Number& hi, const Number& y, const Number& r) {
  const double error = y.as_real() - r.as_real();
  if (!(std::fabs(error) > 0) || std::isinf(error)) return 0;
  const double room = error > 0 ? hi.as_real() - r.as_real() : r.as_real() - lo.as_real();
  return std::isfinite(room) && room > 0 ? std::fabs(error) / room : 0;
}

}  // namespace

Bounds bounds_of(const Program& bound, const std::vector<Array>& inputs,
                 const std::map<std::string, Number>& params) {
  return {evaluate(bound, inputs, params)};
}

Verdicts judge(const Bounds& bounds, const std::vector<Array>& results,
               const std::vector<Array>& reference) {
  Verdicts v;
  for (std::size_t k = 0; k < results.size(); ++k) {
    const Array &lo = bounds.ends[2 * k], &hi = bounds.ends[2 * k + 1], &y = results[k];
    for (std::size_t at = 0; at < y.values.size(); ++at) {
      ++v.elements;
      const Number &l = lo.values[at], &h = hi.values[at];
      v.indeterminate += is_open(l, h, y.dtype) ? 1 : 0;
      if (accepts(l, h, y.values[at], y.dtype)) {
        v.worst = std::max(v.worst, share(l, h, y.values[at], reference[k].values[at]));
        continue;
      }
      if (v.refused++ == 0)
        v.first = fmt::format("output {} [{}]: {} is not in [{}, {}], the reference is {}", k, at,
                              y.values[at].as_real(), l.as_real(), h.as_real(),
                              reference[k].values[at].as_real());
    }
  }
  return v;
}

std::vector<Number> draw(Data kind, DType dtype, std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(-1, 1);
  const std::int64_t hot =
      count > 0 ? static_cast<std::int64_t>(engine() % std::uint64_t(count)) : 0;
  const double level = normal(engine) * 1e3;
  const auto element = [&](std::int64_t k) -> double {
    switch (kind) {
      case Data::uniform:
        return uniform(engine);
      case Data::positive:
        return 0.55 + 0.45 * uniform(engine);
      case Data::integer:
        return std::floor(uniform(engine) * 9);
      case Data::onehot:
        return k == hot ? 1 + 0.5 * uniform(engine) : 0;
      case Data::large_mean:
        return 100 + normal(engine);
      case Data::cancelling:
        return (k % 2 == 0 ? level : -level) * (1 + 0x1p-12 * uniform(engine));
      case Data::tiny:
        return 1e-4 * normal(engine);
      case Data::extreme:
        return (uniform(engine) > 0 ? 1 : -1) * std::exp2(20 * uniform(engine));
      case Data::logits:
        return 40 * normal(engine);
      case Data::ones:
        return 1;
      case Data::special:
        switch (engine() % 12) {
          case 0:
            return std::nan("");
          case 1:
            return kInf;
          case 2:
            return -kInf;
          case 3:
            return -0.0;
          case 4:
            return 1e-41;
          case 5:  // its square overflows, even in f64
            return dtype == DType::f64 ? std::copysign(1e200, normal(engine)) : 3e38;
          case 6:
            return 0;
          default:
            return normal(engine);
        }
    }
    return 0;
  };
  std::vector<Number> values;
  for (std::int64_t k = 0; k < count; ++k) values.push_back(store_as(element(k), dtype));
  return values;
}

}  // namespace mote::test
