// SPDX-License-Identifier: Apache-2.0
// Reduces each row along the last axis into one cell of the result, or into neighbouring cells.
#include "fold.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "fold_loops.h"
#include "fold_takers.h"
#include "index.h"

namespace mote::blocks {
namespace {

using I64 = std::int64_t;

/// An axis, or several adjacent axes that are all kept or all reduced.
struct Axis {
  I64 extent;
  bool reduced;
};

std::vector<Axis> merged(const Extents& shape, const std::vector<int>& axes) {
  std::vector<Axis> all;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (shape[k] == 1 && (k + 1 < shape.size() || !all.empty())) continue;  // it fits both kinds
    const bool reduced = std::ranges::find(axes, static_cast<int>(k)) != axes.end();
    if (!all.empty() && all.back().reduced == reduced) {
      all.back().extent *= shape[k];
    } else {
      all.push_back({shape[k], reduced});
    }
  }
  return all;
}

/// Takes four lines at a time, so that they do not wait for one another.
template <typename Make>
void fold_lines(const Operand& x, const Lines& s, Cell* result, const Make& make) {
  const auto at = [&](I64 line, I64 k) {
    return x.at[x.single ? 0 : s.begin + line * s.line_step + k * s.step];
  };
  Cell* const y = result + s.to;
  I64 line = 0;
  for (; line + 4 <= s.lines; line += 4) {
    auto a = make(y[line]), b = make(y[line + 1]), c = make(y[line + 2]), d = make(y[line + 3]);
    for (I64 k = 0; k < s.elements; ++k) {
      a.take(at(line, k)), b.take(at(line + 1, k));
      c.take(at(line + 2, k)), d.take(at(line + 3, k));
    }
    y[line] = a.cell(), y[line + 1] = b.cell(), y[line + 2] = c.cell(), y[line + 3] = d.cell();
  }
  for (; line < s.lines; ++line) {
    auto a = make(y[line]);
    for (I64 k = 0; k < s.elements; ++k) a.take(at(line, k));
    y[line] = a.cell();
  }
}

bool finds_position(ReduceOp op) { return op == ReduceOp::argmax || op == ReduceOp::argmin; }

/// True if the old value is replaced: by the first NaN, otherwise by a greater (lesser) value.
bool gives_way(ReduceOp op, DType dtype, Cell old, Cell x) {
  if (!is_real(dtype)) return op == ReduceOp::argmax ? old.whole < x.whole : x.whole < old.whole;
  if (std::isnan(old.real)) return false;
  return std::isnan(x.real) || (op == ReduceOp::argmax ? old.real < x.real : x.real < old.real);
}

}  // namespace

Fold::Fold(ReduceOp op, DType dtype, const Extents& shape, const std::vector<int>& axes,
           Cell* result, I64 result_count)
    : op_(op), dtype_(dtype), result_(result) {
  I64 stride = 1;
  I64 location = 1;
  const std::vector<Axis> all = merged(shape, axes);
  for (std::size_t k = all.size(); k-- > 0;) {
    shape_.insert(shape_.begin(), all[k].extent);
    strides_.insert(strides_.begin(), all[k].reduced ? 0 : stride);
    locations_.insert(locations_.begin(), all[k].reduced ? location : 0);
    (all[k].reduced ? location : stride) *= all[k].extent;
  }
  Cell start{};
  if (finds_position(op)) {
    start.whole = -1;
    best_.resize(static_cast<std::size_t>(result_count));
  } else {
    start = cell_of(neutral(op, dtype));
  }
  std::fill_n(result, result_count, start);
}

I64 Fold::offset(std::span<const I64> index, const Extents& strides) {
  I64 at = 0;
  for (std::size_t k = 0; k < index.size(); ++k) at += index[k] * strides[k];
  return at;
}

/// Calls run(walk, where it begins in the block, its length).
template <typename F>
void Fold::runs(I64 first, I64 count, const F& run) const {
  Walk walk(shape_, first);
  for (I64 done = 0; done < count;) {
    const I64 n = walk.run(count - done);
    run(walk, done, n);
    walk.advance(n);
    done += n;
  }
}

/// Calls take(lines) for neighbouring cells of the result, as many as possible at a time.
template <typename F>
void Fold::lines(I64 first, I64 count, const F& take) const {
  const I64 length = shape_.back();
  const std::size_t last = shape_.size() - 1;
  Walk walk(shape_, first);
  for (I64 done = 0; done < count;) {
    const I64 to = offset(walk.index(), strides_);
    I64 rows = 1;
    I64 n = walk.run(count - done);
    if (last > 0 && n == length) {
      rows = std::min((count - done) / length, shape_[last - 1] - walk.index()[last - 1]);
      walk.advance_rows(rows);
    } else {
      walk.advance(n);
    }
    take(into_one() ? Lines{done, length, 1, n, rows, to} : Lines{done, 1, length, rows, n, to});
    done += rows * n;
  }
}

template <std::size_t kFolds>
void Fold::add_all(const Fold* folds, const Operand* x, I64 first, I64 count) {
  constexpr I64 kLong = 16;
  const Summands<kFolds> of = summands<kFolds>(folds, x);
  folds[0].lines(first, count, [&](const Lines& s) {
    if (s.line_step != 1 || s.lines < kLong) return of.add(s);
    for (I64 k = 0; k < s.elements; ++k) of.add_row(s.begin + k * s.step, s.lines, s.to);
  });
}

void Fold::add_together(std::span<const Fold> folds, std::span<const Operand> x, I64 first,
                        I64 count) {
  in_threes(folds.size(),
            [&](auto n, std::size_t k) { add_all<n>(&folds[k], &x[k], first, count); });
}

void Fold::add_counts(const Operand& x, I64 first, I64 count) {
  lines(first, count, [&](const Lines& s) {
    I64 n = 0;
    if (!x.single && s.elements < kShortLine)
      for (; n + kBeside <= s.lines; n += kBeside)
        add_count(result_ + s.to + n, x.at + s.begin + n * s.line_step, s);
    for (; n < s.lines; ++n) {
      const Cell* const from = x.at + (x.single ? 0 : s.begin + n * s.line_step);
      I64 total = x.single ? s.elements * x.at->whole : 0;  // exact, in any order
      if (!x.single && s.step == 1) {
        for (I64 k = 0; k < s.elements; ++k) total += from[k].whole;
      } else if (!x.single) {
        for (I64 k = 0; k < s.elements; ++k) total += from[k * s.step].whole;
      }
      result_[s.to + n].real += static_cast<double>(total);
    }
  });
}

template <bool kLeast>
void Fold::add_extremes(const Operand& x, I64 first, I64 count) const {
  lines(first, count, [&](const Lines& s) {
    I64 n = 0;
    if (!x.single && s.elements < kShortLine)
      for (; n + kBeside <= s.lines; n += kBeside)
        extremes<kLeast>(result_ + s.to + n, x.at + s.begin + n * s.line_step, s);
    for (; n < s.lines; ++n) {
      Cell& y = result_[s.to + n];
      const Cell* const from = x.at + (x.single ? 0 : s.begin + n * s.line_step);
      y.real = extreme<kLeast>(y.real, from, s.step, x.single ? 1 : s.elements);
    }
  });
}

void Fold::add(const Operand& x, I64 first, I64 count) {
  if (finds_position(op_)) return add_best(x, first, count);
  if (is_real(dtype_) && op_ == ReduceOp::sum) return add_all<1>(this, &x, first, count);
  if (is_real(dtype_) && op_ == ReduceOp::min) return add_extremes<true>(x, first, count);
  if (is_real(dtype_) && op_ == ReduceOp::max) return add_extremes<false>(x, first, count);
  with_taker(op_, dtype_, [&](const auto& make) {
    lines(first, count, [&](const Lines& s) { fold_lines(x, s, result_, make); });
  });
}

void Fold::add_best(const Operand& x, I64 first, I64 count) {
  runs(first, count, [&](const Walk& walk, I64 from, I64 n) {
    I64 at = offset(walk.index(), strides_);
    I64 location = offset(walk.index(), locations_);
    for (I64 k = from; k < from + n; ++k, at += strides_.back(), location += locations_.back()) {
      const Cell v = x.at[x.single ? 0 : k];
      Cell& best = best_[static_cast<std::size_t>(at)];
      if (result_[at].whole >= 0 && !gives_way(op_, dtype_, best, v)) continue;
      best = v;
      result_[at].whole = location;
    }
  });
}

}  // namespace mote::blocks
