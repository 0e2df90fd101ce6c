// SPDX-License-Identifier: Apache-2.0
// Equal bits are skipped in blocks; what the bits mean is asked in the others alone.
#include "run/scan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "mote/base/element_types.h"
#include "run/words.h"

namespace mote {
namespace {

constexpr std::int64_t kBlock = 256;  ///< elements

template <DType D>
const typename Element<D>::Stored* stored(const Dense& x) {
  return static_cast<const typename Element<D>::Stored*>(x.data());
}

/// The same value: bit for bit, and of reals +0 and -0, and all NaN.
template <DType D>
bool is_same(typename Element<D>::Stored a, typename Element<D>::Stored b) {
  if constexpr (is_real(D)) {
    const double x = Element<D>::load(a), y = Element<D>::load(b);
    return x == y || (std::isnan(x) && std::isnan(y));
  } else {
    return a == b;
  }
}

/// The first element of the stretch with is_it(k), or its end.
template <typename IsIt>
std::int64_t first_of(Stretch of, const IsIt& is_it) {
  while (of.begin < of.end && !is_it(of.begin)) ++of.begin;
  return of.begin;
}

template <DType D>
std::int64_t first_difference_of(const Dense& a, const Dense& b, Stretch of) {
  const auto *x = stored<D>(a), *y = stored<D>(b);
  while (of.begin < of.end) {
    const Stretch block{of.begin, std::min(of.begin + kBlock, of.end)};
    if (!same_bits(a, b, block)) {
      const std::int64_t at =
          first_of(block, [&](std::int64_t k) { return !is_same<D>(x[k], y[k]); });
      if (at < block.end) return at;
    }
    of.begin = block.end;
  }
  return of.end;
}

}  // namespace

std::int64_t first_difference(const Dense& a, const Dense& b, Stretch of) {
  return with_dtype(a.dtype(), [&]<DType D>() { return first_difference_of<D>(a, b, of); });
}

bool same_bits(const Dense& a, const Dense& b, Stretch of) {
  const std::size_t size = size_of(a.dtype());
  const auto *x = static_cast<const char*>(a.data()), *y = static_cast<const char*>(b.data());
  const std::size_t from = static_cast<std::size_t>(of.begin) * size;
  return std::memcmp(x + from, y + from, static_cast<std::size_t>(of.end) * size - from) == 0;
}

std::int64_t first_unwritten(const Dense& first, const Dense& second, Stretch of) {
  const DType dtype = first.dtype();
  return with_words(dtype, first.data(), [&](const auto* x) {
    using Word = std::remove_cvref_t<decltype(*x)>;
    const auto* y = static_cast<const Word*>(second.data());
    const auto of_first = static_cast<Word>(poison_bits(Poison::first, Role::output, dtype));
    const auto of_second = static_cast<Word>(poison_bits(Poison::second, Role::output, dtype));
    return first_of(of, [&](std::int64_t k) { return x[k] == of_first && y[k] == of_second; });
  });
}

bool same_values(const std::vector<Dense>& a, const std::vector<Dense>& b) {
  for (std::size_t k = 0; k < a.size(); ++k)
    if (first_difference(a[k], b[k], {0, a[k].count()}) < a[k].count()) return false;
  return true;
}

bool all_zero(const Dense& x) {
  return with_dtype(x.dtype(), [&]<DType D>() {
    const auto* all = stored<D>(x);
    return std::all_of(all, all + x.count(), [](auto e) { return Element<D>::load(e) == 0; });
  });
}

bool has_special(const Dense& x) {
  if (!is_real(x.dtype())) return false;
  return with_dtype(x.dtype(), [&]<DType D>() {
    const auto* all = stored<D>(x);
    return std::any_of(all, all + x.count(), [](auto e) {
      return !std::isfinite(static_cast<double>(Element<D>::load(e)));
    });
  });
}

}  // namespace mote
