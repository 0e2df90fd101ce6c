// SPDX-License-Identifier: Apache-2.0
// The loops of reductions over lines of a block; the elements of a line become one cell.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "cell.h"

namespace mote::blocks {

/// Adjacent lines, each reduced into its own cell: element k of line n is at begin + n line_step +
/// k step, its cell at `to` + n.
struct Lines {
  std::int64_t begin;
  std::int64_t line_step;
  std::int64_t step;
  std::int64_t elements;
  std::int64_t lines;
  std::int64_t to;
};

/// Blocks that are added to results of sums over the same axes.
template <std::size_t kFolds>
struct Summands {
  const Cell* from[kFolds];
  std::int64_t moves[kFolds];  ///< 0: one element stands for all
  Cell* result[kFolds];

  /// Adds several lines at a time, so that their sums do not wait for one another.
  template <std::size_t kLines>
  void add_lines(const Lines& s, std::int64_t first) const {
    double sum[kFolds][kLines];
    const std::int64_t begin = s.begin + first * s.line_step;
    const std::int64_t to = s.to + first;
    for (std::size_t f = 0; f < kFolds; ++f)
      for (std::size_t n = 0; n < kLines; ++n)
        sum[f][n] = result[f][to + static_cast<std::int64_t>(n)].real;
    for (std::int64_t k = 0; k < s.elements; ++k)
      for (std::size_t f = 0; f < kFolds; ++f)
        for (std::size_t n = 0; n < kLines; ++n) {
          const std::int64_t at = begin + static_cast<std::int64_t>(n) * s.line_step + k * s.step;
          sum[f][n] += from[f][at * moves[f]].real;
        }
    for (std::size_t f = 0; f < kFolds; ++f)
      for (std::size_t n = 0; n < kLines; ++n)
        result[f][to + static_cast<std::int64_t>(n)].real = sum[f][n];
  }
  void add(const Lines& s) const {
    constexpr std::int64_t kTogether = 4;
    std::int64_t line = 0;
    for (; line + kTogether <= s.lines; line += kTogether) add_lines<kTogether>(s, line);
    for (; line + 2 <= s.lines; line += 2) add_lines<2>(s, line);
    for (; line < s.lines; ++line) add_lines<1>(s, line);
  }
  /// Adds one element of each line.
  void add_row(std::int64_t begin, std::int64_t count, std::int64_t to) const {
    for (std::size_t f = 0; f < kFolds; ++f) {
      Cell* const y = result[f] + to;
      if (moves[f] == 0) {
        for (std::int64_t k = 0; k < count; ++k) y[k].real += from[f]->real;
      } else {
        for (std::int64_t k = 0; k < count; ++k) y[k].real += from[f][begin + k].real;
      }
    }
  }
};

/// The minimum (maximum) of one line. A long line is taken in several lanes: the order of elements
/// matters only for the sign of zero.
template <bool kLeast>
double extreme(double start, const Cell* x, std::int64_t step, std::int64_t count) {
  constexpr std::int64_t kLanes = 16;
  const auto better = [](double a, double b) { return kLeast ? a < b : a > b; };
  bool nan = start != start;
  double value = start;
  std::int64_t k = 0;
  if (step == 1 && count >= 2 * kLanes) {
    double best[kLanes];
    std::fill_n(best, kLanes, start);
    for (; k + kLanes <= count; k += kLanes) {
      std::int64_t nans = 0;
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        const double v = x[k + lane].real;
        nans |= v != v;
        best[lane] = better(best[lane], v) ? best[lane] : v;
      }
      nan = nan || nans != 0;
    }
    for (const double b : best) value = better(value, b) ? value : b;
  }
  for (; k < count; ++k) {
    const double v = x[k * step].real;
    nan |= v != v;
    value = better(value, v) ? value : v;
  }
  if (nan) return std::numeric_limits<double>::quiet_NaN();
  if (value != 0) return value;
  while (k > 0)  // finds the sign of the last zero
    if (const double v = x[--k * step].real; v == 0) return v;
  return start;
}

/// Lines shorter than this are taken several at a time, so that they do not wait for one another.
constexpr std::int64_t kShortLine = 32;
constexpr std::int64_t kBeside = 4;

/// The extremes of `kBeside` short lines, line_step apart. Elements are taken in order, so that the
/// last of several zeros stays; NaN is handled as in `extreme`.
template <bool kLeast>
void extremes(Cell* y, const Cell* x, const Lines& s) {
  double value[kBeside];
  std::int64_t nans[kBeside];
  for (std::int64_t n = 0; n < kBeside; ++n) {
    value[n] = y[n].real;
    nans[n] = value[n] != value[n];
  }
  for (std::int64_t k = 0; k < s.elements; ++k)
    for (std::int64_t n = 0; n < kBeside; ++n) {
      const double v = x[n * s.line_step + k * s.step].real;
      nans[n] |= v != v;
      value[n] = (kLeast ? value[n] < v : value[n] > v) ? value[n] : v;
    }
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (std::int64_t n = 0; n < kBeside; ++n) y[n].real = nans[n] == 0 ? value[n] : kNan;
}

/// Adds to y the number of elements that hold in each of `kBeside` short lines; exact in any order.
inline void add_count(Cell* y, const Cell* x, const Lines& s) {
  std::int64_t total[kBeside] = {};
  for (std::int64_t k = 0; k < s.elements; ++k)
    for (std::int64_t n = 0; n < kBeside; ++n) total[n] += x[n * s.line_step + k * s.step].whole;
  for (std::int64_t n = 0; n < kBeside; ++n) y[n].real += static_cast<double>(total[n]);
}

}  // namespace mote::blocks
