// SPDX-License-Identifier: Apache-2.0
#include "judge/interval.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mote/base/element_types.h"

namespace mote {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// The error as a share of the distance to the end on its side. That end is rounded to the dtype,
/// as a kernel's result is.
double share_of(double error, double to_end) {
  if (!(std::fabs(error) > 0) || std::isinf(error)) return 0;
  const double room = std::fabs(to_end);
  return std::isfinite(room) && room > 0 ? std::fabs(error) / room : 0;
}

/// A real rounded to the dtype.
template <DType D>
double rounded(double x) {
  return Element<D>::load(Element<D>::store(x));
}

template <DType D>
std::int64_t end_of_accepted_reals(const Interval& x, Stretch of, const Dense& got,
                                   const Dense& expected, double& error) {
  using Stored = typename Element<D>::Stored;
  const auto* lower = static_cast<const double*>(x.ends[0].data());
  const auto* upper = static_cast<const double*>(x.ends[1].data());
  const auto* gotten = static_cast<const Stored*>(got.data());
  const auto* wanted = static_cast<const Stored*>(expected.data());
  double greatest = error;
  std::int64_t k = of.begin;
  for (; k < of.end; ++k) {
    const double y = Element<D>::load(gotten[k]), r = Element<D>::load(wanted[k]);
    if (y == r || (std::isnan(y) && std::isnan(r))) continue;
    if (!std::isfinite(lower[k]) || !std::isfinite(upper[k])) break;
    const double lo = rounded<D>(lower[k]), hi = rounded<D>(upper[k]);
    if (!(lo <= y && y <= hi)) break;
    greatest = std::max(greatest, share_of(y - r, (y > r ? hi : lo) - r));
  }
  error = greatest;
  return k;
}

}  // namespace

bool is_indeterminate(const Interval& x, std::int64_t at, DType dtype) {
  const Number lo = x.ends[0].at(at), hi = x.ends[1].at(at);
  if (lo.is_real()) return lo.real() == -kInf && hi.real() == kInf;
  const IntegerRange range = integer_range(dtype);
  return lo.integer() == range.least && hi.integer() == range.greatest;
}

bool accepts(const Interval& x, std::int64_t at, const Dense& got) {
  const Number lo = x.ends[0].at(at), hi = x.ends[1].at(at), y = got.at(at);
  if (!lo.is_real()) return lo.integer() <= y.integer() && y.integer() <= hi.integer();
  if (lo.real() == -kInf && hi.real() == kInf) return true;
  if (std::isnan(lo.real()) || std::isnan(y.real())) {
    return std::isnan(lo.real()) && std::isnan(hi.real()) && std::isnan(y.real());
  }
  return store_as(lo, got.dtype()).real() <= y.real() &&
         y.real() <= store_as(hi, got.dtype()).real();
}

double error_share(const Interval& x, std::int64_t at, const Dense& got, const Dense& expected) {
  const double r = expected.at(at).as_real(), error = got.at(at).as_real() - r;
  const Number end = store_as(x.ends[error > 0 ? 1 : 0].at(at), got.dtype());
  return share_of(error, end.as_real() - r);
}

std::int64_t end_of_accepted(const Interval& x, Stretch of, const Dense& got, const Dense& expected,
                             double& error) {
  if (!is_real(got.dtype()) || x.ends[0].dtype() != DType::f64) return of.begin;
  return with_dtype(got.dtype(), [&]<DType D>() {
    if constexpr (is_real(D)) return end_of_accepted_reals<D>(x, of, got, expected, error);
    return of.begin;
  });
}

}  // namespace mote
