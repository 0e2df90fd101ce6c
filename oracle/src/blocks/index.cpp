// Tables of index expressions, and positions from them.
#include "index.h"

#include <algorithm>
#include <array>
#include <set>
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

std::int64_t Walk::run(std::int64_t most) const {
  return std::min(shape_.back() - index_.back(), most);
}

void Walk::advance(std::int64_t by) {
  index_.back() += by;
  for (std::size_t k = index_.size() - 1; k > 0 && index_[k] == shape_[k]; --k) {
    index_[k] = 0;
    ++index_[k - 1];
  }
}

IndexFunction::IndexFunction(const Expr& e, const Rows& rows, const Sizes& sizes) : rows_(rows) {
  std::vector<Extents> of_axes(rows.shape.size());
  Extents index(rows.shape.size(), 0);
  IndexTree within;  // several of the axes that are one
  IndexTree tree = tree_of(with_values(e, sizes));
  for (IndexTree::Product& term : tree.terms) {
    std::set<std::size_t> axes;
    axes_of(term, axes);
    const IndexTree alone{{term}};
    if (axes.empty()) {
      constant_ = wrap_add(constant_, alone.value(index));
    } else if (axes.size() > 1) {
      (*axes.begin() >= rows.first ? within : others_).terms.push_back(std::move(term));
    } else {
      const std::size_t axis = *axes.begin();
      of_axes[axis].resize(static_cast<std::size_t>(rows.shape[axis]), 0);
      for (std::int64_t& v : of_axes[axis]) {
        v = wrap_add(v, alone.value(index));
        ++index[axis];
      }
      index[axis] = 0;
    }
  }
  tables_.assign(of_axes.begin(), of_axes.begin() + static_cast<std::ptrdiff_t>(rows.first));
  tables_.emplace_back();
  make_table(rows.first, of_axes, within);
}

/// Of the axes that are one, from their own.
void IndexFunction::make_table(std::size_t first, const std::vector<Extents>& of_axes,
                               const IndexTree& within) {
  bool level = within.terms.empty();
  for (std::size_t k = first; k < of_axes.size(); ++k) level = level && of_axes[k].empty();
  if (level) return;
  Extents& table = tables_.back();
  Walk walk(rows_.shape, 0);
  for (std::int64_t at = 0; at < rows_.extents.back(); ++at, walk.advance(1)) {
    std::int64_t v = within.value(walk.index());
    for (std::size_t k = first; k < of_axes.size(); ++k)
      if (!of_axes[k].empty())
        v = wrap_add(v, of_axes[k][static_cast<std::size_t>(walk.index()[k])]);
    table.push_back(v);
  }
}

std::int64_t IndexFunction::level(const Walk& walk) const {
  std::int64_t sum = constant_;
  for (std::size_t k = 0; k < rows_.first; ++k)
    if (!tables_[k].empty())
      sum = wrap_add(sum, tables_[k][static_cast<std::size_t>(walk.index()[k])]);
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
  const Extents& table = tables_.back();
  if (table.empty()) {
    std::fill_n(out, count, base);
  } else {
    const std::int64_t* from = table.data() + walk.index().back();
    for (std::int64_t t = 0; t < count; ++t) out[t] = wrap_add(base, from[t]);
  }
  if (others_.terms.empty()) return;
  for (std::int64_t t = 0; t < count; ++t)
    out[t] = wrap_add(out[t], others_.value(full_index(walk, walk.index().back() + t)));
}

Positions::Positions(const std::vector<Expr>& to, const Extents& tensor, const Rows& rows,
                     const Sizes& sizes)
    : rows_(rows) {
  std::int64_t stride = 1;
  for (std::size_t k = to.size(); k-- > 0;) {
    axes_.push_back({IndexFunction(to[k], rows, sizes), tensor[k], stride});
    stride *= tensor[k];
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
