// Tables of index expressions, and positions from them.
#include "index.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace mote::blocks {
namespace {

std::int64_t wrap_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t wrap_mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

// As in the emitted C.
std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return wrap_mul(a, -1);
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  const std::int64_t r = b == 0 || b == -1 ? 0 : a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/// By how much each entry is more than the one before, if all are by as much.
std::optional<std::int64_t> linear_step(const Extents& table) {
  if (table.size() < 2) return table.empty() ? std::nullopt : std::optional<std::int64_t>(0);
  const auto rise = [&](std::size_t k) { return wrap_add(table[k], wrap_mul(table[k - 1], -1)); };
  for (std::size_t k = 2; k < table.size(); ++k)
    if (rise(k) != rise(1)) return std::nullopt;
  return rise(1);
}

IndexTree tree_of(const Expr& e);

IndexTree::Product product_of(const Term& term) {
  IndexTree::Product product{term.coefficient, {}};
  for (const Atom& atom : term.atoms) {
    IndexTree::Factor factor;
    factor.kind = atom.kind;
    if (atom.symbol) {
      while (Expr::loop(static_cast<int>(factor.axis)).as_symbol() != atom.symbol) ++factor.axis;
    }
    for (const Expr& arg : atom.args) factor.args.push_back(tree_of(arg));
    product.factors.push_back(std::move(factor));
  }
  return product;
}

IndexTree tree_of(const Expr& e) {
  IndexTree tree;
  for (const Term& term : e.terms()) tree.terms.push_back(product_of(term));
  return tree;
}

std::int64_t factor_value(const IndexTree::Factor& f, const Extents& index) {
  if (f.kind == Atom::Kind::symbol) return index[f.axis];
  const std::int64_t a = f.args[0].value(index);
  if (f.kind == Atom::Kind::div) return floor_div(a, f.args[1].value(index));
  if (f.kind == Atom::Kind::mod) return floor_mod(a, f.args[1].value(index));
  std::int64_t extreme = a;
  for (std::size_t k = 1; k < f.args.size(); ++k) {
    const std::int64_t b = f.args[k].value(index);
    extreme = f.kind == Atom::Kind::min ? std::min(extreme, b) : std::max(extreme, b);
  }
  return extreme;
}

void axes_of(const IndexTree::Product& product, std::set<std::size_t>& axes) {
  for (const IndexTree::Factor& f : product.factors) {
    if (f.kind == Atom::Kind::symbol) axes.insert(f.axis);
    for (const IndexTree& arg : f.args)
      for (const IndexTree::Product& inner : arg.terms) axes_of(inner, axes);
  }
}

Expr with_values(const Expr& e, const Sizes& sizes) {
  std::map<Symbol, Expr> values;
  for (const Symbol s : e.symbols())
    if (const auto at = sizes.find(s); at != sizes.end()) values.emplace(s, Expr(at->second));
  return values.empty() ? e : e.substitute(values);
}

}  // namespace

std::int64_t IndexTree::value(const Extents& index) const {
  std::int64_t total = 0;
  for (const Product& term : terms) {
    std::int64_t product = term.coefficient;
    for (const Factor& f : term.factors) product = wrap_mul(product, factor_value(f, index));
    total = wrap_add(total, product);
  }
  return total;
}

Rows::Rows(const Extents& of) : shape(of.empty() ? Extents{1} : of), first(shape.size() - 1) {
  std::int64_t tail = shape.back();
  for (; first > 0 && tail * shape[first - 1] <= kTail; --first) tail *= shape[first - 1];
  extents.assign(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(first));
  extents.push_back(tail);
}

Walk::Walk(const Extents& shape, std::int64_t first) : shape_(shape), index_(shape.size()) {
  for (std::size_t k = shape.size(); k-- > 0;) {
    index_[k] = first % shape[k];
    first /= shape[k];
  }
}

std::int64_t IndexFunction::Part::at(std::int64_t index) const {
  return table.empty() ? wrap_mul(step, index) : table[static_cast<std::size_t>(index)];
}

IndexFunction::IndexFunction(const Expr& e, const Rows& rows, const Sizes& sizes) : rows_(rows) {
  std::vector<Part> parts(rows.shape.size());
  Extents index(rows.shape.size(), 0);
  IndexTree within;  // of several axes that are one
  std::map<std::vector<std::size_t>, IndexTree> mixed;
  const IndexTree tree = tree_of(with_values(e, sizes));
  for (const IndexTree::Product& term : tree.terms) {
    std::set<std::size_t> found;
    axes_of(term, found);
    const std::vector<std::size_t> axes(found.begin(), found.end());
    if (axes.empty()) {
      constant_ = wrap_add(constant_, IndexTree{{term}}.value(index));
    } else if (axes.size() > 1) {
      (axes[0] >= rows.first ? within : mixed[axes]).terms.push_back(term);
    } else {
      add_term(term, axes[0], parts[axes[0]]);
    }
  }
  for (auto& [axes, terms] : mixed)
    if (!make_mixed(axes, terms))
      others_.terms.insert(others_.terms.end(), terms.terms.begin(), terms.terms.end());
  const auto first = parts.begin() + static_cast<std::ptrdiff_t>(rows.first);
  outer_.assign(parts.begin(), first);
  make_along({first, parts.end()}, within);
}

/// A term of one axis.
void IndexFunction::add_term(const IndexTree::Product& term, std::size_t axis, Part& to) const {
  const bool linear = term.factors.size() == 1 && term.factors[0].kind == Atom::Kind::symbol;
  const auto extent = static_cast<std::size_t>(rows_.shape[axis]);
  if (linear && to.table.empty()) {
    to.step = wrap_add(to.step, term.coefficient);
    return;
  }
  if (to.table.empty()) {
    for (std::size_t k = 0; k < extent; ++k)
      to.table.push_back(wrap_mul(to.step, static_cast<std::int64_t>(k)));
  }
  const IndexTree alone{{term}};
  Extents index(rows_.shape.size(), 0);
  for (std::int64_t& v : to.table) {
    v = wrap_add(v, alone.value(index));
    ++index[axis];
  }
}

/// Of the axes that are one, from their own.
void IndexFunction::make_along(const std::vector<Part>& inner, const IndexTree& within) {
  const auto is_level = [](const Part& p) { return p.table.empty() && p.step == 0; };
  if (within.terms.empty() && std::ranges::all_of(inner, is_level)) return;
  if (within.terms.empty() && inner.size() == 1) return (void)(along_ = inner[0]);
  Extents table{0};
  for (std::size_t k = 0; k < inner.size(); ++k) {
    Extents longer;
    for (const std::int64_t v : table)
      for (std::int64_t i = 0; i < rows_.shape[rows_.first + k]; ++i)
        longer.push_back(wrap_add(v, inner[k].at(i)));
    table = std::move(longer);
  }
  if (!within.terms.empty()) {
    Walk walk(rows_.shape, 0);
    for (std::int64_t& v : table) {
      v = wrap_add(v, within.value(walk.index()));
      walk.advance(1);
    }
  }
  if (const auto step = linear_step(table)) {
    constant_ = wrap_add(constant_, table[0]);
    along_.step = *step;
  } else {
    along_.table = std::move(table);
  }
}

/// False: a table would take longer than computing what is asked for.
bool IndexFunction::make_mixed(const std::vector<std::size_t>& axes, const IndexTree& terms) {
  constexpr std::int64_t kAlways = 4096;
  constexpr std::int64_t kShare = 4;
  const std::int64_t length = rows_.extents.back();
  Mixed mixed{Extents(rows_.first, 0), {}};
  std::int64_t size = 1;
  std::int64_t elements = length;
  for (std::size_t k = rows_.first; k-- > 0;) {
    elements *= rows_.shape[k];
    if (std::ranges::find(axes, k) == axes.end()) continue;
    mixed.strides[k] = size * length;
    size *= rows_.shape[k];
  }
  if (size * length > std::max(kAlways, elements / kShare)) return false;
  mixed.table.reserve(static_cast<std::size_t>(size * length));
  Extents index(rows_.shape.size(), 0);
  for (std::int64_t row = 0; row < size; ++row) {
    std::int64_t left = row;
    for (std::size_t k = rows_.first; k-- > 0;) {
      if (mixed.strides[k] == 0) continue;
      index[k] = left % rows_.shape[k];
      left /= rows_.shape[k];
    }
    for (std::int64_t at = 0; at < length; ++at) {
      std::int64_t rest = at;
      for (std::size_t k = index.size(); k-- > rows_.first; rest /= rows_.shape[k])
        index[k] = rest % rows_.shape[k];
      mixed.table.push_back(terms.value(index));
    }
  }
  mixed_.push_back(std::move(mixed));
  return true;
}

std::int64_t IndexFunction::level(const Walk& walk) const {
  std::int64_t sum = constant_;
  for (std::size_t k = 0; k < rows_.first; ++k) sum = wrap_add(sum, outer_[k].at(walk.index()[k]));
  return sum;
}

Extents IndexFunction::full_index(const Walk& walk, std::int64_t along) const {
  Extents index = rows_.shape;
  for (std::size_t k = index.size(); k-- > rows_.first;) {
    index[k] = along % rows_.shape[k];
    along /= rows_.shape[k];
  }
  std::copy_n(walk.index().begin(), rows_.first, index.begin());
  return index;
}

void IndexFunction::values(const Walk& walk, std::int64_t count, std::int64_t* out) const {
  const std::int64_t base = level(walk);
  const std::int64_t at = walk.index().back();
  if (!along_.table.empty()) {
    const std::int64_t* from = along_.table.data() + at;
    for (std::int64_t t = 0; t < count; ++t) out[t] = wrap_add(base, from[t]);
  } else {
    for (std::int64_t t = 0; t < count; ++t) out[t] = wrap_add(base, wrap_mul(along_.step, at + t));
  }
  for (const Mixed& m : mixed_) {
    const std::int64_t* from = m.table.data() + at;
    for (std::size_t k = 0; k < rows_.first; ++k) from += m.strides[k] * walk.index()[k];
    for (std::int64_t t = 0; t < count; ++t) out[t] = wrap_add(out[t], from[t]);
  }
  if (others_.terms.empty()) return;
  for (std::int64_t t = 0; t < count; ++t)
    out[t] = wrap_add(out[t], others_.value(full_index(walk, at + t)));
}

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

/// For every element of the shape.
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
}

/// Of all axes of the tensor together, and how far each moves.
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
}

void Positions::fill(std::int64_t first, std::int64_t count, std::int64_t* out) const {
  Walk walk(rows_.extents, first);
  while (count > 0) {
    const std::int64_t n = walk.run(count);
    run(walk, n, out);
    walk.advance(n);
    out += n;
    count -= n;
  }
}

void Positions::stretches(std::int64_t first, std::int64_t count, std::int64_t* space,
                          std::vector<Stretch>& out) const {
  constexpr std::int64_t kShort = 64;
  out.clear();
  Walk walk(rows_.extents, first);
  while (count > 0) {
    if (inside_ && rows_.first > 0 && rows_.extents.back() < kShort && walk.index().back() == 0) {
      if (const std::int64_t rows = fill_rows(walk, count, space); rows > 0) {
        const std::int64_t n = rows * rows_.extents.back();
        out.push_back({n, 0, 0, space, true});
        walk.advance_rows(rows);
        space += n;
        count -= n;
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
    } else {
      out.push_back({n, base, 0, offsets_.data() + walk.index().back(), true});
    }
    walk.advance(n);
    count -= n;
  }
}

/// The positions of the whole rows that follow within the last axis but one, `count` elements at
/// most; how many rows. Nothing is out of range.
std::int64_t Positions::fill_rows(const Walk& walk, std::int64_t count, std::int64_t* out) const {
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
  for (std::int64_t row = begin; row < begin + rows; ++row) {
    const std::int64_t base = moving != nullptr ? wrap_add(outer, moving->at(row)) : outer;
    for (std::int64_t k = 0; k < length; ++k)
      *out++ = base + (offsets_.empty() ? step_ * k : offsets_[static_cast<std::size_t>(k)]);
  }
  return rows;
}

/// False: somewhere along the last axis it is out of range.
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
