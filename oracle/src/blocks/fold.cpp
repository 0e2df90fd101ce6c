// Each run along the last axis goes into one cell of the result, or into neighbours.
#include "fold.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "index.h"

namespace mote::blocks {
namespace {

using I64 = std::int64_t;

/// True where neighbours a and b are of one kind, so that they count as one axis.
struct Axis {
  I64 extent;
  bool reduced;
};

std::vector<Axis> merged(const Extents& shape, const std::vector<int>& axes) {
  std::vector<Axis> all;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const bool reduced = std::ranges::find(axes, static_cast<int>(k)) != axes.end();
    if (!all.empty() && all.back().reduced == reduced) {
      all.back().extent *= shape[k];
    } else {
      all.push_back({shape[k], reduced});
    }
  }
  return all;
}

/// What a cell of the result becomes while elements are taken in.
struct Product {
  double value;
  explicit Product(Cell y) : value(y.real) {}
  void take(Cell x) { value *= x.real; }
  Cell cell() const { return {.real = value}; }
};

/// Any other, by its definition.
template <typename Step>
struct Defined {
  const Step& step;
  Cell value;
  void take(Cell x) { value = step(value, x); }
  Cell cell() const { return value; }
};

template <typename Make>
void fold_run(const Operand& x, I64 from, Cell* y, bool into_one, I64 count, const Make& make) {
  if (into_one) {
    auto a = make(*y);
    for (I64 k = 0; k < count; ++k) a.take(x.at[x.single ? 0 : from + k]);
    *y = a.cell();
    return;
  }
  for (I64 k = 0; k < count; ++k) {
    auto a = make(y[k]);
    a.take(x.at[x.single ? 0 : from + k]);
    y[k] = a.cell();
  }
}

/// Four rows that follow one another, each into its own cell: none waits for another's sums.
template <typename Make>
void fold_rows(const Operand& x, I64 from, Cell* const (&y)[4], I64 length, const Make& make) {
  if (!(y[0] < y[1] && y[1] < y[2] && y[2] < y[3])) {  // an axis farther out is reduced too
    for (I64 row = 0; row < 4; ++row) fold_run(x, from + row * length, y[row], true, length, make);
    return;
  }
  auto a = make(*y[0]), b = make(*y[1]), c = make(*y[2]), d = make(*y[3]);
  for (I64 k = from; k < from + length; ++k) {
    a.take(x.at[k]);
    b.take(x.at[k + length]);
    c.take(x.at[k + 2 * length]);
    d.take(x.at[k + 3 * length]);
  }
  *y[0] = a.cell(), *y[1] = b.cell(), *y[2] = c.cell(), *y[3] = d.cell();
}

/// Blocks that are added to results of sums over the same axes.
template <std::size_t kFolds>
struct Summands {
  const Cell* from[kFolds];
  I64 step[kFolds];
  Cell* result[kFolds];

  void add(std::size_t f, const Operand& x, Cell* to) {
    from[f] = x.at;
    step[f] = x.single ? 0 : 1;
    result[f] = to;
  }
  /// Rows that follow one another, each into its own cell.
  template <std::size_t kRows>
  void sum_rows(I64 begin, I64 length, const I64* to) const {
    double sum[kFolds][kRows];
    for (std::size_t f = 0; f < kFolds; ++f)
      for (std::size_t row = 0; row < kRows; ++row) sum[f][row] = result[f][to[row]].real;
    for (I64 k = begin; k < begin + length; ++k)
      for (std::size_t f = 0; f < kFolds; ++f)
        for (std::size_t row = 0; row < kRows; ++row)
          sum[f][row] += from[f][(k + static_cast<I64>(row) * length) * step[f]].real;
    for (std::size_t f = 0; f < kFolds; ++f)
      for (std::size_t row = 0; row < kRows; ++row) result[f][to[row]].real = sum[f][row];
  }
  template <std::size_t kRows>
  void sum_in_turn(I64 begin, I64 length, const I64 (&to)[kRows]) const {
    for (const I64& at : to) {
      sum_rows<1>(begin, length, &at);
      begin += length;
    }
  }
  void sum_beside(I64 begin, I64 count, I64 to) const {
    for (std::size_t f = 0; f < kFolds; ++f) {
      Cell* const y = result[f] + to;
      if (step[f] == 0) {
        for (I64 k = 0; k < count; ++k) y[k].real += from[f]->real;
      } else {
        for (I64 k = 0; k < count; ++k) y[k].real += from[f][begin + k].real;
      }
    }
  }
};

/// One cell's least (greatest) value, of `count` elements that follow one another.
template <bool kLeast>
double extreme(double start, const Cell* x, I64 count) {
  constexpr I64 kLanes = 16;
  const auto better = [](double a, double b) { return kLeast ? a < b : a > b; };
  bool nan = std::isnan(start);
  double value = start;
  I64 k = 0;
  if (count >= 2 * kLanes) {
    double best[kLanes];
    std::fill_n(best, kLanes, start);
    for (; k + kLanes <= count; k += kLanes) {
      I64 nans = 0;
      for (I64 lane = 0; lane < kLanes; ++lane) {
        const double v = x[k + lane].real;
        nans |= v != v;
        best[lane] = better(best[lane], v) ? best[lane] : v;
      }
      nan = nan || nans != 0;
    }
    for (const double b : best) value = better(value, b) ? value : b;
  }
  for (; k < count; ++k) {
    const double v = x[k].real;
    nan |= v != v;
    value = better(value, v) ? value : v;
  }
  if (nan) return std::numeric_limits<double>::quiet_NaN();
  if (value != 0) return value;
  while (k > 0)  // the last zero's sign
    if (x[--k].real == 0) return x[k].real;
  return start;
}

MapOp step_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return MapOp::add;
    case ReduceOp::prod:
      return MapOp::mul;
    case ReduceOp::max:
      return MapOp::max;
    case ReduceOp::min:
      return MapOp::min;
    case ReduceOp::any:
      return MapOp::logical_or;
    default:
      return MapOp::logical_and;
  }
}

bool finds_position(ReduceOp op) { return op == ReduceOp::argmax || op == ReduceOp::argmin; }

/// What is there gives way: to the first NaN, else to what is greater (less).
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
  I64 place = 1;
  const std::vector<Axis> all = merged(shape, axes);
  for (std::size_t k = all.size(); k-- > 0;) {
    shape_.insert(shape_.begin(), all[k].extent);
    strides_.insert(strides_.begin(), all[k].reduced ? 0 : stride);
    places_.insert(places_.begin(), all[k].reduced ? place : 0);
    (all[k].reduced ? place : stride) *= all[k].extent;
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

I64 Fold::offset(const Extents& index, const Extents& strides) const {
  I64 at = 0;
  for (std::size_t k = 0; k < index.size(); ++k) at += index[k] * strides[k];
  return at;
}

/// Whole rows four at a time, then what is left.
template <typename Make>
void Fold::rows(const Operand& x, I64 first, I64 count, const Make& make) const {
  const bool into_one = strides_.back() == 0;
  const I64 length = shape_.back();
  Walk walk(shape_, first);
  for (I64 done = 0; done < count;) {
    if (into_one && !x.single && walk.index().back() == 0 && count - done >= 4 * length) {
      Cell* y[4];
      for (Cell*& at : y) {
        at = result_ + offset(walk.index(), strides_);
        walk.advance(length);
      }
      fold_rows(x, done, y, length, make);
      done += 4 * length;
    } else {
      const I64 n = walk.run(count - done);
      fold_run(x, done, result_ + offset(walk.index(), strides_), into_one, n, make);
      walk.advance(n);
      done += n;
    }
  }
}

/// run(walk, where it begins in the block, its length).
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

template <std::size_t kFolds>
void Fold::add_all(const Fold* folds, const Operand* x, I64 first, I64 count) {
  constexpr std::size_t kRows = kFolds > 2 ? 2 : 4;
  Summands<kFolds> of;
  for (std::size_t f = 0; f < kFolds; ++f) of.add(f, x[f], folds[f].result_);
  const Fold& one = folds[0];
  const I64 length = one.shape_.back();
  Walk walk(one.shape_, first);
  for (I64 done = 0; done < count;) {
    I64 to[kRows] = {one.offset(walk.index(), one.strides_)};
    const bool whole = one.into_one() && walk.index().back() == 0;
    I64 n = walk.run(count - done);
    walk.advance(n);
    if (!one.into_one()) {
      of.sum_beside(done, n, to[0]);
    } else if (whole && count - done >= length * static_cast<I64>(kRows)) {
      bool apart = true;  // not where an axis farther out is reduced too
      for (std::size_t row = 1; row < kRows; ++row, walk.advance(length)) {
        to[row] = one.offset(walk.index(), one.strides_);
        apart = apart && to[row] > to[row - 1];
      }
      apart ? of.template sum_rows<kRows>(done, length, to) : of.sum_in_turn(done, length, to);
      n = length * static_cast<I64>(kRows);
    } else {
      of.template sum_rows<1>(done, n, to);
    }
    done += n;
  }
}

void Fold::add_together(std::span<const Fold> folds, std::span<const Operand> x, I64 first,
                        I64 count) {
  for (std::size_t k = 0; k < folds.size();) {
    const std::size_t left = folds.size() - k;
    if (left >= 3) {
      add_all<3>(&folds[k], &x[k], first, count);
    } else if (left == 2) {
      add_all<2>(&folds[k], &x[k], first, count);
    } else {
      add_all<1>(&folds[k], &x[k], first, count);
    }
    k += std::min<std::size_t>(left, 3);
  }
}

void Fold::add_counts(const Operand& x, I64 first, I64 count) {
  runs(first, count, [&](const Walk& walk, I64 from, I64 n) {
    Cell* const y = result_ + offset(walk.index(), strides_);
    if (!into_one()) {
      for (I64 k = 0; k < n; ++k)
        y[k].real += static_cast<double>(x.at[x.single ? 0 : from + k].whole);
      return;
    }
    I64 total = x.single ? n * x.at->whole : 0;  // exact, in any order
    if (!x.single)
      for (I64 k = from; k < from + n; ++k) total += x.at[k].whole;
    y->real += static_cast<double>(total);
  });
}

template <bool kLeast>
void Fold::add_extremes(const Operand& x, I64 first, I64 count) const {
  runs(first, count, [&](const Walk& walk, I64 from, I64 n) {
    Cell* const y = result_ + offset(walk.index(), strides_);
    const Cell* const at = x.at + (x.single ? 0 : from);
    if (into_one()) {
      y->real = extreme<kLeast>(y->real, at, x.single ? 1 : n);
      return;
    }
    for (I64 k = 0; k < n; ++k) {
      const double v = at[x.single ? 0 : k].real;
      const double old = y[k].real;
      y[k].real = (kLeast ? old < v : old > v) || old != old ? old : v;
    }
  });
}

void Fold::add(const Operand& x, I64 first, I64 count) {
  if (finds_position(op_)) return add_best(x, first, count);
  const auto each = [&](const auto& make) { rows(x, first, count, make); };
  if (is_real(dtype_) && op_ == ReduceOp::sum) return add_all<1>(this, &x, first, count);
  if (is_real(dtype_) && op_ == ReduceOp::prod) return each([](Cell y) { return Product(y); });
  if (is_real(dtype_) && op_ == ReduceOp::min) return add_extremes<true>(x, first, count);
  if (is_real(dtype_) && op_ == ReduceOp::max) return add_extremes<false>(x, first, count);
  const MapOp op = step_of(op_);
  const auto step = [&](Cell y, Cell v) {
    const Number args[] = {number_of(y, dtype_), number_of(v, dtype_)};
    return cell_of(apply(op, args, dtype_, dtype_));
  };
  each([&](Cell y) { return Defined<decltype(step)>{step, y}; });
}

void Fold::add_best(const Operand& x, I64 first, I64 count) {
  runs(first, count, [&](const Walk& walk, I64 from, I64 n) {
    I64 at = offset(walk.index(), strides_);
    I64 place = offset(walk.index(), places_);
    for (I64 k = from; k < from + n; ++k, at += strides_.back(), place += places_.back()) {
      const Cell v = x.at[x.single ? 0 : k];
      Cell& best = best_[static_cast<std::size_t>(at)];
      if (result_[at].whole >= 0 && !gives_way(op_, dtype_, best, v)) continue;
      best = v;
      result_[at].whole = place;
    }
  });
}

}  // namespace mote::blocks
