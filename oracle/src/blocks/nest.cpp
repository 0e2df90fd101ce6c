// Tables are filled as their entries are needed: of most positions nobody asks.
#include "nest.h"

#include <set>

#include "as.h"
#include "mote/uops/compare.h"
#include "storage.h"
#include "thin.h"

namespace mote::blocks {
namespace {

/// Entries of a table; positions in all lists of a loop: a megabyte.
constexpr std::int64_t kMost = std::int64_t{1} << 17U;

/// The number of values of what those loops decide, with their strides in a table; 0: too many.
std::int64_t make_strides(const std::set<std::size_t>& which, const Loops& loops,
                          Extents& strides) {
  std::int64_t count = 1;
  for (auto at = which.rbegin(); at != which.rend(); ++at) {
    strides[*at] = count;
    if (count > kMost / loops.extent(*at)) return 0;
    count *= loops.extent(*at);
  }
  return count;
}

std::set<std::size_t> moving_axes(const IndexTree::Product& term, const Extents& shape) {
  std::set<std::size_t> axes;
  axes_of(term, axes);
  std::erase_if(axes, [&](std::size_t axis) { return shape[axis] <= 1; });
  return axes;
}

}  // namespace

Loops::Loops(const Extents& shape) : shape_(shape) {
  constexpr std::int64_t kEnough = 16;  ///< entering a loop takes as long as some elements
  constexpr std::int64_t kLongest = 256;
  for (std::size_t k = shape.size(); k-- > 0;) {
    const bool joins =
        !extents_.empty() && (shape[k] == 1 || (extents_.size() == 1 && extents_[0] < kEnough &&
                                                extents_[0] * shape[k] <= kLongest));
    if (joins) {
      extents_[0] *= shape[k];
      first_[0] = k;
    } else {
      extents_.insert(extents_.begin(), shape[k]);
      first_.insert(first_.begin(), k);
    }
  }
}

std::set<std::size_t> Loops::loops_of(const IndexTree::Product& term) const {
  std::set<std::size_t> which;
  for (const std::size_t axis : moving_axes(term, shape_))
    which.insert(static_cast<std::size_t>(std::ranges::upper_bound(first_, axis) - first_.begin()) -
                 1);
  return which;
}

bool Loops::runs_along(std::size_t loop, std::size_t axis) const {
  return extents_[loop] == shape_[axis];
}

Extents Loops::index(const Extents& positions) const {
  Extents index(shape_.size(), 0);
  std::size_t end = shape_.size();
  for (std::size_t loop = count(); loop-- > 0; end = first_[loop]) {
    std::int64_t at = positions[loop];
    for (std::size_t k = end; k-- > first_[loop];) {
      index[k] = at % shape_[k];
      at /= shape_[k];
    }
  }
  return index;
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
  keeps_ = rows > 0 && rows <= kMost / loops.extent(loop);
  rows_.resize(keeps_ ? static_cast<std::size_t>(rows) : 1, Row{nullptr, 0, 0});
}

std::size_t NestedIndex::Part::row_number(const Extents& positions) const {
  if (!keeps_) return 0;
  std::int64_t at = 0;
  for (std::size_t k = 0; k < loop_; ++k) at += strides_[k] * positions[k];
  return static_cast<std::size_t>(at);
}

void NestedIndex::Part::fill(Extents positions, std::size_t row) const {
  const auto length = static_cast<std::size_t>(loops_.extent(loop_));
  if (table_.empty()) table_.resize(rows_.size() * length);
  const std::span<std::int64_t> values(table_.data() + row * length, length);
  for (std::size_t k = 0; k < length; ++k) {
    positions[loop_] = static_cast<std::int64_t>(k);
    values[k] = step_ ? wrap_mul(*step_, positions[loop_]) : terms_.value(loops_.index(positions));
  }
  const auto [least, greatest] = std::ranges::minmax(values);
  rows_[row] = {values.data(), least, greatest};
}

NestedIndex::Part::Row NestedIndex::Part::row(const Extents& positions) const {
  const std::size_t number = row_number(positions);
  if (!keeps_ || rows_[number].values == nullptr) fill(positions, number);
  return rows_[number];
}

std::int64_t NestedIndex::Part::at(const Extents& positions) const {
  if (step_) return wrap_mul(*step_, positions[loop_]);
  if (!keeps_) return terms_.value(loops_.index(positions));
  return row(positions).values[positions[loop_]];
}

NestedIndex::NestedIndex(const Expr& e, const Loops& loops, const Sizes& sizes) {
  std::map<std::size_t, IndexTree> by_loop;
  const Extents zeros = loops.index(Extents(loops.count(), 0));
  for (const IndexTree::Product& term : index_tree(e, sizes).terms) {
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

bool is_nested(const Read& read, const Extents& shape, const Sizes& sizes) {
  return std::ranges::any_of(read.from, [&](const Expr& e) {
    const IndexTree tree = index_tree(e, sizes);
    return std::ranges::any_of(tree.terms, [&](const IndexTree::Product& term) {
      return moving_axes(term, shape).size() > 1;
    });
  });
}

Nest::Nest(const std::vector<Uop>& conditions, const Extents& shape, const Sizes& sizes,
           std::int64_t block)
    : loops_(shape),
      sizes_(sizes),
      block_(block),
      by_loop_(loops_.count()),
      at_(loops_.count(), 0) {
  for (const Uop& c : conditions) add_condition(c);
  for (std::size_t k = 0; k < by_loop_.size(); ++k) make_lists(k);
}

Nest::Shared Nest::shared(const Expr& e) {
  Shared& known = functions_[e];
  if (!known) known = std::make_shared<const NestedIndex>(e, loops_, sizes_);
  return known;
}

/// In the innermost loop that makes a difference.
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
  std::set<std::size_t> around;
  for (const Condition& c : loop.conditions)
    for (const NestedIndex* f : {c.a.get(), c.b.get()})
      for (const NestedIndex::Part& part : f->parts())
        around.insert(part.loops().begin(), part.loops().end());
  around.erase(at);  // no other is inside of it
  loop.strides.assign(loops_.count(), 0);
  const std::int64_t lists = make_strides(around, loops_, loop.strides);
  loop.keeps = lists > 0 && lists <= kMost / loops_.extent(at);
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
  readings_.push_back(std::move(r));
}

const Extents& Nest::chosen(std::size_t at) {
  Loop& loop = by_loop_[at];
  std::int64_t number = 0;
  for (std::size_t k = 0; loop.keeps && k < at; ++k) number += loop.strides[k] * at_[k];
  const auto list = static_cast<std::size_t>(number);
  if (!loop.keeps || loop.known[list] == 0) choose(at, loop.lists[list]);
  loop.known[list] = 1;
  return loop.lists[list];
}

void Nest::choose(std::size_t at, Extents& list) {
  list.clear();
  for (std::int64_t k = 0; k < loops_.extent(at); ++k) {
    at_[at] = k;
    const bool holds = std::ranges::all_of(by_loop_[at].conditions, [&](const Condition& c) {
      return compare(c.op, c.a->at(at_), c.b->at(at_));
    });
    if (holds) list.push_back(k);
  }
}

std::int64_t Nest::begun(const Part& part) const {
  return part.before < 0 ? part.constant : sums_[static_cast<std::size_t>(part.before)];
}

/// The offset with one axis more.
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

void Nest::emit(std::span<const std::int64_t> list) {
  for (Reading& r : readings_) emit(r, list);
}

/// Along the innermost loop all positions are complete.
void Nest::emit(Reading& r, std::span<const std::int64_t> list) {
  const std::size_t innermost = loops_.count() - 1;
  const std::size_t count = list.size();
  const bool follows = list.back() - list.front() + 1 == static_cast<std::int64_t>(count);
  std::int64_t* const out = r.positions + count_;
  std::fill_n(out, count, r.offsets[innermost]);
  bool inside = r.offsets[innermost] >= 0;
  for (const Part& part : r.by_loop[innermost]) {
    const std::int64_t begin = begun(part);
    const NestedIndex::Part::Row row = part.part->row(at_);
    inside = inside && wrap_add(begin, row.least) >= 0 &&
             wrap_add(begin, row.greatest) < part.extent && !part.is_value;
    const std::int64_t base = begin * part.stride;
    const std::int64_t stride = part.stride;
    if (inside && follows) {
      const std::int64_t* const values = row.values + list.front();
      for (std::size_t n = 0; n < count; ++n) out[n] += base + values[n] * stride;
    } else if (inside) {
      for (std::size_t n = 0; n < count; ++n) out[n] += base + row.values[list[n]] * stride;
    } else {
      for (std::size_t n = 0; n < count; ++n)
        out[n] = moved(part, out[n], wrap_add(begin, row.values[list[n]]));
    }
  }
  r.inside = r.inside && inside;
}

}  // namespace mote::blocks
