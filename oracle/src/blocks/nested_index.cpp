// SPDX-License-Identifier: Apache-2.0
// Fills tables when their entries are needed: most entries never are.
#include "nested_index.h"

#include <algorithm>
#include <map>
#include <utility>

namespace mote::blocks {
namespace {

std::set<std::size_t> moving_axes(const IndexTree::Product& term, const Extents& shape) {
  return mote::blocks::moving_axes(IndexTree{{term}}, shape);
}

}  // namespace

std::set<std::size_t> moving_axes(const IndexTree& tree, const Extents& shape) {
  std::set<std::size_t> axes;
  for (const IndexTree::Product& term : tree.terms) axes_of(term, axes);
  std::erase_if(axes, [&](std::size_t axis) { return shape[axis] <= 1; });
  return axes;
}

std::int64_t make_strides(const std::set<std::size_t>& which, const Loops& loops,
                          Extents& strides) {
  std::int64_t count = 1;
  for (std::size_t loop = loops.count(); loop-- > 0;) {
    if (!which.contains(loop)) continue;
    strides[loop] = count;
    if (count > kMaxEntries / loops.extent(loop)) return 0;
    count *= loops.extent(loop);
  }
  return count;
}

/// Chooses where the axes of the last loop begin, to minimise the time for entering it and making
/// the lists of its positions. Without conditions the last loop is just long enough to make
/// entering it cheap.
std::size_t Loops::begin_of_last(const std::vector<std::set<std::size_t>>& conditions) const {
  constexpr std::int64_t kEntering = 16;  ///< the cost of entering, in elements
  constexpr std::int64_t kLongest = 256;
  std::int64_t rows = 1;
  for (const std::size_t axis : order_) rows *= shape_[axis];
  std::int64_t extent = 1;
  std::set<std::size_t> inner;
  std::optional<double> least;
  std::size_t begin = order_.size();
  for (std::size_t k = order_.size(); k-- > 0 && (!least || extent * extent_at(k) <= kLongest);) {
    if (conditions.empty() && extent >= kEntering) break;
    rows /= extent_at(k);
    extent *= extent_at(k);
    inner.insert(order_[k]);
    double checks = 1;
    std::set<std::size_t> around;
    for (const std::set<std::size_t>& axes : conditions) {
      if (std::ranges::none_of(axes, [&](std::size_t axis) { return inner.contains(axis); }))
        continue;
      checks += 1;
      around.insert(axes.begin(), axes.end());
    }
    auto entries = static_cast<double>(extent);
    for (const std::size_t axis : around)
      if (!inner.contains(axis)) entries *= static_cast<double>(shape_[axis]);
    const double cost = static_cast<double>(rows * kEntering) + entries * checks;
    if (least && cost >= *least && !conditions.empty()) continue;
    least = cost;
    begin = k;
  }
  return begin;
}

Loops::Loops(Extents shape, std::vector<std::size_t> order,
             const std::vector<std::set<std::size_t>>& conditions)
    : shape_(std::move(shape)), order_(std::move(order)) {
  const std::size_t last = begin_of_last(conditions);
  for (std::size_t k = order_.size(); k-- > 0;) {
    if (!extents_.empty() && (extent_at(k) == 1 || k >= last)) {
      extents_[0] *= extent_at(k);
      first_[0] = k;
    } else {
      extents_.insert(extents_.begin(), extent_at(k));
      first_.insert(first_.begin(), k);
    }
  }
}

std::set<std::size_t> Loops::loops_of(const IndexTree::Product& term) const {
  std::set<std::size_t> which;
  for (const std::size_t axis : moving_axes(term, shape_)) {
    const auto location =
        static_cast<std::size_t>(std::ranges::find(order_, axis) - order_.begin());
    which.insert(
        static_cast<std::size_t>(std::ranges::upper_bound(first_, location) - first_.begin()) - 1);
  }
  return which;
}

bool Loops::runs_along(std::size_t loop, std::size_t axis) const {
  return extents_[loop] == shape_[axis];
}

Extents Loops::index(const Extents& positions) const {
  Extents index(shape_.size(), 0);
  for (std::size_t loop = 0; loop < count(); ++loop) {
    std::int64_t at = positions[loop];
    for (std::size_t k = end_of(loop); k-- > first_[loop];) {
      index[order_[k]] = at % shape_[order_[k]];
      at /= shape_[order_[k]];
    }
  }
  return index;
}

void Loops::advance(std::size_t loop, Extents& index) const {
  for (std::size_t k = end_of(loop); k-- > first_[loop];) {
    const std::size_t axis = order_[k];
    if (++index[axis] < shape_[axis]) return;
    index[axis] = 0;
  }
}

NestedIndex::Part::Part(IndexTree terms, std::size_t loop, const Loops& loops)
    : loops_(loops), terms_(std::move(terms)), loop_(loop), strides_(loops.count(), 0) {
  for (const IndexTree::Product& term : terms_.terms) moving_.merge(loops.loops_of(term));
  const bool linear = std::ranges::all_of(terms_.terms, [&](const IndexTree::Product& term) {
    return term.factors.size() == 1 && term.factors[0].kind == Atom::Kind::symbol &&
           loops.runs_along(loop, term.factors[0].axis);
  });
  if (linear) {
    step_ = 0;
    for (const IndexTree::Product& term : terms_.terms) *step_ = wrap_add(*step_, term.coefficient);
  }
  std::set<std::size_t> around = moving_;
  around.erase(loop);
  const std::int64_t rows = make_strides(around, loops, strides_);
  keeps_ = rows > 0 && rows <= kMaxEntries / loops.extent(loop);
  rows_.resize(keeps_ ? static_cast<std::size_t>(rows) : 1, nullptr);
}

std::size_t NestedIndex::Part::row_number(const Extents& positions) const {
  return keeps_ ? location_of(positions, strides_, loop_) : 0;
}

void NestedIndex::Part::fill(Extents positions, std::size_t row) const {
  const auto length = static_cast<std::size_t>(loops_.extent(loop_));
  if (table_.empty()) table_.resize(rows_.size() * length);
  const std::span<std::int64_t> values(table_.data() + row * length, length);
  positions[loop_] = 0;
  Extents index = loops_.index(positions);
  for (std::size_t k = 0; k < length; ++k, loops_.advance(loop_, index))
    values[k] = step_ ? wrap_mul(*step_, static_cast<std::int64_t>(k)) : terms_.value(index);
  rows_[row] = values.data();
}

const std::int64_t* NestedIndex::Part::row(const Extents& positions) const {
  const std::size_t number = row_number(positions);
  if (!keeps_ || rows_[number] == nullptr) fill(positions, number);
  return rows_[number];
}

std::int64_t NestedIndex::Part::at(const Extents& positions) const {
  if (step_) return wrap_mul(*step_, positions[loop_]);
  if (!keeps_) return terms_.value(loops_.index(positions));
  return row(positions)[positions[loop_]];
}

NestedIndex::NestedIndex(const IndexTree& tree, const Loops& loops) {
  std::map<std::size_t, IndexTree> by_loop;
  const Extents zeros = loops.index(Extents(loops.count(), 0));
  for (const IndexTree::Product& term : tree.terms) {
    const std::set<std::size_t> moving = loops.loops_of(term);
    if (moving.empty()) {
      constant_ = wrap_add(constant_, IndexTree{{term}}.value(zeros));
    } else {
      by_loop[*moving.rbegin()].terms.push_back(term);
    }
  }
  for (auto& [loop, terms] : by_loop) parts_.emplace_back(std::move(terms), loop, loops);
}

std::int64_t NestedIndex::at(const Extents& positions) const {
  std::int64_t total = constant_;
  for (const Part& part : parts_) total = wrap_add(total, part.at(positions));
  return total;
}

bool is_nested(const std::vector<Expr>& from, const Extents& shape, const Sizes& sizes) {
  return std::ranges::any_of(from, [&](const Expr& e) {
    const IndexTree tree = index_tree(e, sizes);
    return std::ranges::any_of(tree.terms, [&](const IndexTree::Product& term) {
      return moving_axes(term, shape).size() > 1;
    });
  });
}

}  // namespace mote::blocks
