// SPDX-License-Identifier: Apache-2.0
// Makes the lists of allowed positions, and the amounts that a read adds at them, when they are
// first needed.
#include "nest.h"

#include <numeric>

#include "as.h"
#include "masked.h"
#include "mote/uops/compare.h"
#include "storage.h"

namespace mote::blocks {
namespace {

using Ends = Nest::Ends;

/// The range of an index over a shape; nullopt unless each of its terms moves along one axis.
std::optional<Ends> ends_of(const IndexTree& tree, const Extents& shape) {
  Ends ends{0, 0};
  for (const IndexTree::Product& term : tree.terms) {
    const auto& factors = term.factors;
    if (factors.size() > 1 || (factors.size() == 1 && factors[0].kind != Atom::Kind::symbol))
      return {};
    const std::int64_t last = factors.empty() ? 1 : shape[factors[0].axis] - 1;
    const std::int64_t most = wrap_mul(term.coefficient, last);
    if (factors.empty() || most < 0) ends.least = wrap_add(ends.least, most);
    if (factors.empty() || most > 0) ends.greatest = wrap_add(ends.greatest, most);
  }
  return ends;
}

/// True if the comparison is known to hold for all a and b.
bool always(MapOp op, const std::optional<Ends>& a, const std::optional<Ends>& b) {
  if (!a || !b) return false;
  const bool below = compare(op, a->greatest, b->least);
  const bool above = compare(op, a->least, b->greatest);
  return op == MapOp::ne ? a->greatest < b->least || b->greatest < a->least : below && above;
}

}  // namespace

Nest::Nest(const std::vector<Uop>& conditions, const Extents& shape,
           const std::vector<std::size_t>& order, const Sizes& sizes, std::int64_t block)
    : sizes_(sizes),
      loops_(shape, order, choose_conditions(conditions, shape)),
      block_(block),
      by_loop_(loops_.count()),
      at_(loops_.count(), 0) {
  for (const Uop& c : conditions_) add_condition(c);
  for (std::size_t k = 0; k < by_loop_.size(); ++k) make_lists(k);
}

const IndexTree& Nest::tree(const Expr& e) {
  const auto [at, is_new] = trees_.try_emplace(e);
  if (is_new) at->second = index_tree(e, sizes_);
  return at->second;
}

/// Keeps the conditions that may fail, and returns the axes that each depends on.
std::vector<std::set<std::size_t>> Nest::choose_conditions(const std::vector<Uop>& conditions,
                                                           const Extents& shape) {
  std::vector<std::set<std::size_t>> axes;
  for (const Uop& c : conditions) {
    const auto& m = *as<uop::Map>(c);
    const IndexTree& a = tree(position_of(m.args[0]));
    const IndexTree& b = tree(position_of(m.args[1]));
    if (always(m.op, ends_of(a, shape), ends_of(b, shape))) continue;
    conditions_.push_back(c);
    axes.push_back(moving_axes(a, shape));
    axes.back().merge(moving_axes(b, shape));
  }
  return axes;
}

Nest::Shared Nest::shared(const Expr& e) {
  Shared& known = functions_[e];
  if (!known) known = std::make_shared<const NestedIndex>(tree(e), loops_);
  return known;
}

/// Adds the condition to the innermost loop that changes it.
void Nest::add_condition(const Uop& condition) {
  const auto& m = *as<uop::Map>(condition);
  const Condition c{m.op, shared(position_of(m.args[0])), shared(position_of(m.args[1]))};
  const auto innermost = [](const NestedIndex& f) {
    return f.parts().empty() ? 0 : f.parts().back().loop() + 1;
  };
  const std::size_t depth = std::max(innermost(*c.a), innermost(*c.b));
  if (depth > 0) return by_loop_[depth - 1].conditions.push_back(c);
  possible_ = possible_ && compare(c.op, c.a->constant(), c.b->constant());
}

void Nest::make_lists(std::size_t at) {
  Loop& loop = by_loop_[at];
  for (const Condition& c : loop.conditions)
    for (const NestedIndex* f : {c.a.get(), c.b.get()})
      for (const NestedIndex::Part& part : f->parts())
        loop.around.insert(part.loops().begin(), part.loops().end());
  loop.around.erase(at);  // the outer loops remain
  loop.strides.assign(loops_.count(), 0);
  const std::int64_t lists = make_strides(loop.around, loops_, loop.strides);
  loop.keeps = lists > 0 && lists <= kMaxEntries / loops_.extent(at);
  loop.lists.resize(loop.keeps ? static_cast<std::size_t>(lists) : 1);
  loop.known.assign(loop.lists.size(), 0);
}

void Nest::add(const Read& read, std::int64_t* positions) {
  Reading r;
  r.positions = positions;
  r.by_loop.resize(loops_.count());
  r.offsets.assign(loops_.count() + 1, 0);
  std::int64_t stride = 1;
  const bool is_value = read.tensor.empty() && !read.from.empty();
  const Extents tensor = is_value ? Extents{1} : extents_of(read.tensor, sizes_);
  for (std::size_t t = tensor.size(); t-- > 0; stride *= tensor[t]) {
    const Shared f = shared(read.from[t]);
    Part axis{0, -1, nullptr, f->constant(), tensor[t], stride, false, is_value};
    if (f->parts().empty()) r.offsets[0] = moved(axis, r.offsets[0], f->constant());
    for (const NestedIndex::Part& part : f->parts()) {
      axis.part = &part;
      axis.index = sums_.size();
      axis.completes = &part == &f->parts().back();
      r.by_loop[part.loop()].push_back(axis);
      axis.before = static_cast<std::ptrdiff_t>(axis.index);
      sums_.push_back(0);
    }
  }
  if (!is_value) make_lines(r);
  readings_.push_back(std::move(r));
}

void Nest::make_lines(Reading& r) const {
  const std::size_t innermost = loops_.count() - 1;
  if (!by_loop_[innermost].keeps || r.by_loop[innermost].empty()) return;
  std::set<std::size_t> around = by_loop_[innermost].around;
  for (const Part& part : r.by_loop[innermost])
    around.insert(part.part->loops().begin(), part.part->loops().end());
  around.erase(innermost);
  r.strides.assign(loops_.count(), 0);
  const std::int64_t lines = make_strides(around, loops_, r.strides);
  if (lines > 0 && lines <= kMaxEntries / loops_.extent(innermost))
    r.lines.resize(static_cast<std::size_t>(lines));
}

const Extents& Nest::chosen(std::size_t at) {
  Loop& loop = by_loop_[at];
  const std::size_t list = loop.keeps ? location_of(at_, loop.strides, at) : 0;
  if (!loop.keeps || loop.known[list] == 0) choose(at, loop.lists[list]);
  loop.known[list] = 1;
  return loop.lists[list];
}

/// An index along one loop.
class Nest::Side {
 public:
  Side(const NestedIndex& f, const Extents& at, std::size_t loop) : begin_(f.constant()) {
    for (const NestedIndex::Part& part : f.parts()) {
      if (part.loop() == loop) {
        row_ = part.row(at);
      } else {
        begin_ = wrap_add(begin_, part.at(at));
      }
    }
  }
  std::int64_t at(std::int64_t k) const { return row_ ? wrap_add(begin_, row_[k]) : begin_; }

 private:
  std::int64_t begin_;
  const std::int64_t* row_ = nullptr;
};

void Nest::choose(std::size_t at, Extents& list) {
  list.resize(static_cast<std::size_t>(loops_.extent(at)));
  std::iota(list.begin(), list.end(), 0);
  for (const Condition& c : by_loop_[at].conditions) {
    const Side a(*c.a, at_, at);
    const Side b(*c.b, at_, at);
    std::erase_if(list, [&](std::int64_t k) { return !compare(c.op, a.at(k), b.at(k)); });
  }
}

std::int64_t Nest::begun(const Part& part) const {
  return part.before < 0 ? part.constant : sums_[static_cast<std::size_t>(part.before)];
}

/// The offset with one more axis.
std::int64_t Nest::moved(const Part& part, std::int64_t offset, std::int64_t at) {
  if (part.is_value) return at;
  return offset >= 0 && at >= 0 && at < part.extent ? offset + at * part.stride : -1;
}

void Nest::enter(std::size_t loop) {
  for (Reading& r : readings_) {
    std::int64_t offset = r.offsets[loop];
    for (const Part& part : r.by_loop[loop]) {
      const std::int64_t sum = wrap_add(begun(part), part.part->at(at_));
      sums_[part.index] = sum;
      if (part.completes) offset = moved(part, offset, sum);
    }
    r.offsets[loop + 1] = offset;
  }
}

const Nest::Line& Nest::line_of(Reading& r, const Extents& list) const {
  const std::size_t innermost = loops_.count() - 1;
  Line& line = r.lines[location_of(at_, r.strides, innermost)];
  if (!line.offsets.empty()) return line;
  line.offsets.assign(list.size(), 0);
  for (const Part& part : r.by_loop[innermost]) {
    const std::int64_t* const values = part.part->row(at_);
    Ends ends{values[list[0]], values[list[0]]};
    for (std::size_t k = 0; k < list.size(); ++k) {
      const std::int64_t value = values[list[k]];
      ends = {std::min(ends.least, value), std::max(ends.greatest, value)};
      line.offsets[k] = wrap_add(line.offsets[k], wrap_mul(value, part.stride));
    }
    line.ends.push_back(ends);
  }
  return line;
}

/// Returns false and writes nothing if some position may be out of range.
bool Nest::emit_line(Reading& r, const Extents& list, std::size_t from, std::size_t count) const {
  const std::size_t innermost = loops_.count() - 1;
  std::int64_t base = r.offsets[innermost];
  if (r.lines.empty() || base < 0) return false;
  const Line& line = line_of(r, list);
  for (std::size_t k = 0; k < line.ends.size(); ++k) {
    const Part& part = r.by_loop[innermost][k];
    const std::int64_t begin = begun(part);
    if (wrap_add(begin, line.ends[k].least) < 0) return false;
    if (wrap_add(begin, line.ends[k].greatest) >= part.extent) return false;
    base = wrap_add(base, wrap_mul(begin, part.stride));
  }
  const std::int64_t* const offsets = line.offsets.data() + from;
  std::int64_t* const out = r.positions + count_;
  for (std::size_t k = 0; k < count; ++k) out[k] = wrap_add(base, offsets[k]);
  return true;
}

/// Writes `count` positions of the list from `from` on. All are complete in the innermost loop.
void Nest::emit(Reading& r, const Extents& list, std::size_t from, std::size_t count) const {
  if (emit_line(r, list, from, count)) return;
  const std::size_t innermost = loops_.count() - 1;
  std::int64_t* const out = r.positions + count_;
  std::fill_n(out, count, r.offsets[innermost]);
  r.inside = r.inside && r.offsets[innermost] >= 0 && r.by_loop[innermost].empty();
  for (const Part& part : r.by_loop[innermost]) {
    const std::int64_t begin = begun(part);
    const std::int64_t* const values = part.part->row(at_);
    for (std::size_t k = 0; k < count; ++k)
      out[k] = moved(part, out[k], wrap_add(begin, values[list[from + k]]));
  }
}

}  // namespace mote::blocks
