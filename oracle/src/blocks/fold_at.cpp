// SPDX-License-Identifier: Apache-2.0
// Reductions of elements in any order, each with the cell of the result that it goes to.
#include "fold.h"
#include "fold_loops.h"
#include "fold_takers.h"

namespace mote::blocks {

namespace {

using I64 = std::int64_t;

}  // namespace

void Locations::set(const I64* to, I64 count) {
  constexpr I64 kAtOnce = 8;
  to_ = to;
  count_ = count;
  groups_.resize(static_cast<std::size_t>(count));
  std::size_t found = 0;
  for (I64 k = 0; k < count;) {
    const I64 cell = to[k++];
    const auto all_there = [&](const I64* some) {
      I64 other = 0;
      for (I64 n = 0; n < kAtOnce; ++n) other |= some[n] ^ cell;
      return other == 0;
    };
    while (k + kAtOnce <= count && to[k] == cell && all_there(to + k)) k += kAtOnce;
    while (k < count && to[k] == cell) ++k;
    groups_[found++] = {k, cell};
  }
  groups_.resize(found);
}

template <std::size_t kFolds>
void Fold::add_all_at(const Fold* folds, const Operand* x, const Locations& at) {
  const Summands<kFolds> of = summands<kFolds>(folds, x);
  at.for_each_group([&](I64 begin, I64 end, I64 to) {
    of.template add_lines<1>({begin, 0, 1, end - begin, 1, to}, 0);
  });
}

void Fold::add_together_at(std::span<const Fold> folds, std::span<const Operand> x,
                           const Locations& at) {
  if (at.apart()) {
    for (std::size_t k = 0; k < folds.size(); ++k) folds[k].add_each(x[k], at);
    return;
  }
  in_threes(folds.size(), [&](auto n, std::size_t k) { add_all_at<n>(&folds[k], &x[k], at); });
}

template <bool kLeast>
void Fold::add_extremes_at(const Operand& x, const Locations& at) const {
  at.for_each_group([&](I64 begin, I64 end, I64 to) {
    Cell& y = result_[to];
    y.real = extreme<kLeast>(y.real, x.at + (x.single ? 0 : begin), 1, x.single ? 1 : end - begin);
  });
}

void Fold::add_each(const Operand& x, const Locations& at) const {
  with_taker(op_, dtype_, [&](const auto& make) {
    at.for_each([&](I64 k, I64 to) {
      auto y = make(result_[to]);
      y.take(x.at[x.single ? 0 : k]);
      result_[to] = y.cell();
    });
  });
}

void Fold::add_at(const Operand& x, const Locations& at) const {
  if (!is_real(dtype_) || at.apart()) return add_each(x, at);
  if (op_ == ReduceOp::sum) return add_all_at<1>(this, &x, at);
  if (op_ == ReduceOp::min) return add_extremes_at<true>(x, at);
  if (op_ == ReduceOp::max) return add_extremes_at<false>(x, at);
  add_each(x, at);
}

void Fold::add_counts_at(const Operand& x, const Locations& at) const {
  if (at.apart())
    return at.for_each([&](I64 k, I64 to) {
      result_[to].real += static_cast<double>(x.at[x.single ? 0 : k].whole);
    });
  at.for_each_group([&](I64 begin, I64 end, I64 to) {
    I64 total = x.single ? (end - begin) * x.at->whole : 0;  // exact, in any order
    for (I64 k = begin; k < end && !x.single; ++k) total += x.at[k].whole;
    result_[to].real += static_cast<double>(total);
  });
}

}  // namespace mote::blocks
