// SPDX-License-Identifier: Apache-2.0
// Computes the positions of elements from the expressions of a tensor's axes.
#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "index.h"

namespace mote::blocks {
namespace {
/// The minimum length of a piece; shorter ones cost more than their elements.
constexpr std::int64_t kLeastPiece = 16;
}  // namespace

Positions::Positions(const std::vector<Expr>& to, const Extents& tensor, const Rows& rows,
                     const Sizes& sizes)
    : rows_(rows) {
  std::int64_t stride = 1;
  for (std::size_t k = to.size(); k-- > 0;) {
    axes_.push_back({IndexFunction(to[k], rows, sizes), tensor[k], stride, 0, 0});
    stride *= tensor[k];
    apart_ = apart_ && axes_.back().at.is_apart();
  }
  if (apart_ && rows.extents.back() > 0) make_offsets();
  inside_ = apart_ && std::ranges::all_of(axes_, [&](const Axis& a) { return is_inside(a); });
  if (inside_) make_bases();
}

/// True if no element of the shape is out of range.
bool Positions::is_inside(const Axis& a) const {
  std::int64_t least = a.least;
  std::int64_t greatest = a.greatest;
  bool fits = !__builtin_add_overflow(least, a.at.constant(), &least) &&
              !__builtin_add_overflow(greatest, a.at.constant(), &greatest);
  for (std::size_t k = 0; fits && k < rows_.first; ++k) {
    const IndexFunction::Part& part = a.at.outer(k);
    const std::int64_t last = std::max<std::int64_t>(rows_.shape[k] - 1, 0);
    std::int64_t lo = 0;
    std::int64_t hi = 0;
    if (part.table.empty()) {
      fits = !__builtin_mul_overflow(part.step, last, &hi);
      if (hi < lo) std::swap(lo, hi);
    } else {
      const auto [low, high] = std::ranges::minmax(part.table);
      lo = low, hi = high;
    }
    fits = fits && !__builtin_add_overflow(least, lo, &least) &&
           !__builtin_add_overflow(greatest, hi, &greatest);
  }
  return fits && least >= 0 && greatest < a.extent;
}

void Positions::make_bases() {
  for (const Axis& a : axes_) first_ = wrap_add(first_, wrap_mul(a.at.constant(), a.stride));
  for (std::size_t k = 0; k < rows_.first; ++k) {
    IndexFunction::Part sum;
    const bool linear =
        std::ranges::all_of(axes_, [&](const Axis& a) { return a.at.outer(k).table.empty(); });
    if (!linear) sum.table.resize(static_cast<std::size_t>(rows_.shape[k]));
    for (const Axis& a : axes_) {
      sum.step = wrap_add(sum.step, wrap_mul(a.at.outer(k).step, a.stride));
      std::int64_t index = 0;
      for (std::int64_t& v : sum.table)
        v = wrap_add(v, wrap_mul(a.at.outer(k).at(index++), a.stride));
    }
    if (!linear || sum.step != 0) bases_.push_back({k, std::move(sum)});
  }
  if (rows_.first > 0 && rows_.extents.back() < Rows::kShort) make_pattern();
}

/// Makes the pattern if rows are a constant step apart.
void Positions::make_pattern() {
  const std::int64_t length = rows_.extents.back();
  std::int64_t between = 0;
  for (const Base& b : bases_) {
    if (b.axis + 1 != rows_.first) continue;
    if (!b.part.table.empty()) return;
    between = b.part.step;
  }
  if (length == 0 || (offsets_.empty() && length >= kLeastPiece)) return;
  for (std::int64_t row = 0, base = 0; row * length < kBlock + length; ++row) {
    for (std::int64_t k = 0; k < length; ++k)
      pattern_.push_back(wrap_add(
          base, offsets_.empty() ? wrap_mul(step_, k) : offsets_[static_cast<std::size_t>(k)]));
    base = wrap_add(base, between);
  }
}

/// Makes the offsets for all axes of the tensor together, and the range of each.
void Positions::make_offsets() {
  bool linear = true;
  const std::int64_t last = rows_.extents.back() - 1;
  for (Axis& a : axes_) {
    std::tie(a.least, a.greatest) = std::minmax({a.at.along(0), a.at.along(last)});
    if (!a.at.is_linear()) {
      linear = false;
      continue;
    }
    std::int64_t way = 0;
    if (__builtin_mul_overflow(a.at.along(1), last, &way)) apart_ = false;
    step_ = wrap_add(step_, wrap_mul(a.at.along(1), a.stride));
  }
  if (linear || !apart_) return;
  offsets_.assign(static_cast<std::size_t>(last + 1), 0);
  for (Axis& a : axes_) {
    if (a.at.is_level()) continue;
    for (std::int64_t at = 0; at <= last; ++at) {
      const std::int64_t v = a.at.along(at);
      a.least = std::min(a.least, v);
      a.greatest = std::max(a.greatest, v);
      std::int64_t& offset = offsets_[static_cast<std::size_t>(at)];
      offset = wrap_add(offset, wrap_mul(v, a.stride));
    }
  }
  make_pieces();
}

/// Splits the offsets into pieces with a constant step, all as long as the first; there are none if
/// that is impossible.
void Positions::make_pieces() {
  const std::int64_t step =
      offsets_.size() > 1 ? wrap_add(offsets_[1], wrap_mul(offsets_[0], -1)) : 0;
  const auto follows = [&](std::size_t k) {
    return offsets_[k] == wrap_add(offsets_[k - 1], step);
  };
  std::size_t piece = 1;
  while (piece < offsets_.size() && follows(piece)) ++piece;
  if (piece < kLeastPiece || offsets_.size() % piece != 0) return;
  for (std::size_t k = 0; k < offsets_.size(); ++k) {
    if (k % piece == 0) {
      pieces_.push_back(offsets_[k]);
    } else if (!follows(k)) {
      return pieces_.clear();
    }
  }
  step_ = step;
  piece_ = static_cast<std::int64_t>(piece);
}

void Positions::stretches(std::int64_t first, std::int64_t count, std::int64_t* space,
                          std::vector<Stretch>& out) const {
  out.clear();
  Walk walk(rows_.extents, first);
  while (count > 0) {
    if (!pattern_.empty()) {
      const Stretch rows = patterned(walk, count);
      out.push_back(rows);
      walk.advance_over_rows(rows.count);
      count -= rows.count;
      continue;
    }
    if (inside_ && rows_.first > 0 && rows_.extents.back() < Rows::kShort &&
        walk.index().back() == 0) {
      if (const Stretch rows = rows_from(walk, count, space); rows.count > 0) {
        out.push_back(rows);
        walk.advance_rows(rows.count / rows_.extents.back());
        space += rows.count;
        count -= rows.count;
        continue;
      }
    }
    const std::int64_t n = walk.run(count);
    std::int64_t base = 0;
    if (!apart_ || !base_of(walk, base)) {
      run(walk, n, space);
      out.push_back({n, 0, 0, space, false});
      space += n;
    } else if (offsets_.empty()) {
      out.push_back({n, base + step_ * walk.index().back(), step_, nullptr, true});
    } else if (piece_ > 0) {
      const std::int64_t at = walk.index().back();
      const std::int64_t* const from = pieces_.data() + at / piece_;
      out.push_back({n, base, step_, from, true, piece_, at % piece_});
    } else {
      out.push_back({n, base, 0, offsets_.data() + walk.index().back(), true});
    }
    walk.advance(n);
    count -= n;
  }
}

/// The elements that follow within the last axis but one.
Stretch Positions::patterned(const Walk& walk, std::int64_t count) const {
  const std::size_t axis = rows_.first - 1;
  const std::int64_t at = walk.index().back();
  const std::int64_t left = (rows_.shape[axis] - walk.index()[axis]) * rows_.extents.back() - at;
  std::int64_t base = 0;
  base_of(walk, base);
  return {std::min(count, left), base, 0, pattern_.data() + at, true};
}

/// The whole rows that follow within the last axis but one, at most `count` elements. Nothing is
/// out of range.
Stretch Positions::rows_from(const Walk& walk, std::int64_t count, std::int64_t* out) const {
  const std::size_t axis = rows_.first - 1;
  const std::int64_t length = rows_.extents.back();
  const std::int64_t begin = walk.index()[axis];
  const std::int64_t rows = std::min(count / length, rows_.shape[axis] - begin);
  std::int64_t outer = first_;
  const IndexFunction::Part* moving = nullptr;
  for (const Base& b : bases_) {
    if (b.axis == axis) {
      moving = &b.part;
    } else {
      outer = wrap_add(outer, b.part.at(walk.index()[b.axis]));
    }
  }
  const bool in_pieces = offsets_.empty() && length >= kLeastPiece;
  const std::int64_t* const from = out;
  for (std::int64_t row = begin; row < begin + rows; ++row) {
    const std::int64_t base = moving != nullptr ? wrap_add(outer, moving->at(row)) : outer;
    if (in_pieces) {
      *out++ = base;
      continue;
    }
    for (std::int64_t k = 0; k < length; ++k)
      *out++ = base + (offsets_.empty() ? step_ * k : offsets_[static_cast<std::size_t>(k)]);
  }
  if (in_pieces) return {rows * length, 0, step_, from, true, length, 0};
  return {rows * length, 0, 0, from, true};
}

/// Returns false if some element along the last axis may be out of range.
bool Positions::base_of(const Walk& walk, std::int64_t& base) const {
  if (inside_) {
    base = first_;
    for (const Base& b : bases_) base = wrap_add(base, b.part.at(walk.index()[b.axis]));
    return true;
  }
  for (const Axis& a : axes_) {
    const std::int64_t at = a.at.level(walk);
    std::int64_t least = 0;
    std::int64_t greatest = 0;
    if (__builtin_add_overflow(at, a.least, &least) || least < 0) return false;
    if (__builtin_add_overflow(at, a.greatest, &greatest) || greatest >= a.extent) return false;
    base += at * a.stride;
  }
  return true;
}

void Positions::run(const Walk& walk, std::int64_t count, std::int64_t* out) const {
  std::int64_t base = 0;
  for (const Axis& a : axes_) {
    if (!a.at.is_level()) continue;
    const std::int64_t at = a.at.level(walk);
    if (at < 0 || at >= a.extent) return (void)std::fill_n(out, count, -1);
    base += at * a.stride;
  }
  std::fill_n(out, count, base);
  std::array<std::int64_t, kBlock> along;
  for (const Axis& a : axes_) {
    if (a.at.is_level()) continue;
    a.at.values(walk, count, along.data());
    for (std::int64_t t = 0; t < count; ++t) {
      const std::int64_t at = along[static_cast<std::size_t>(t)];
      const bool inside = out[t] >= 0 && at >= 0 && at < a.extent;
      out[t] = inside ? out[t] + at * a.stride : -1;
    }
  }
}

AlongAxis::AlongAxis(int axis, const Extents& tensor, const Extents& shape)
    : shape_(shape), strides_(shape.size(), 0) {
  std::int64_t stride = 1;
  for (std::size_t k = tensor.size(); k-- > 0; stride *= tensor[k]) strides_[k] = stride;
  const auto along = static_cast<std::size_t>(axis);
  extent_ = tensor[along];
  stride_ = std::exchange(strides_[along], 0);
}

void AlongAxis::fill(const Operand& at, std::int64_t first, std::int64_t count,
                     std::int64_t* out) const {
  Walk walk(shape_, first);
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t n = walk.run(count - done);
    std::int64_t base = 0;
    for (std::size_t k = 0; k < strides_.size(); ++k) base += walk.index()[k] * strides_[k];
    for (std::int64_t t = done; t < done + n; ++t, base += strides_.back()) {
      const std::int64_t index = at.at[at.single ? 0 : t].whole;
      out[t] = index >= 0 && index < extent_ ? base + index * stride_ : -1;
    }
    walk.advance(n);
    done += n;
  }
}

}  // namespace mote::blocks
