// SPDX-License-Identifier: Apache-2.0
// Builds and evaluates the steps and tables of index expressions.
#include "index.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace mote::blocks {
namespace {

/// The difference of neighbouring entries, if it is the same for all.
std::optional<std::int64_t> linear_step(const Extents& table) {
  if (table.size() < 2) return table.empty() ? std::nullopt : std::optional<std::int64_t>(0);
  const auto rise = [&](std::size_t k) { return wrap_add(table[k], wrap_mul(table[k - 1], -1)); };
  for (std::size_t k = 2; k < table.size(); ++k)
    if (rise(k) != rise(1)) return std::nullopt;
  return rise(1);
}

std::int64_t factor_value(const IndexTree::Factor& f, std::span<const std::int64_t> index) {
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

IndexTree tree_of(const Expr& e, const Sizes& sizes);

bool is_constant(const IndexTree& tree) {
  return std::ranges::all_of(tree.terms,
                             [](const IndexTree::Product& term) { return term.factors.empty(); });
}

/// A product of the term; factors that depend only on sizes and parameters go into the coefficient.
IndexTree::Product product_of(const Term& term, const Sizes& sizes) {
  IndexTree::Product product{term.coefficient, {}};
  for (const Atom& atom : term.atoms) {
    IndexTree::Factor factor;
    factor.kind = atom.kind;
    if (atom.symbol && atom.symbol->kind() != SymbolKind::loop) {
      product.coefficient = wrap_mul(product.coefficient, sizes.at(*atom.symbol));
      continue;
    }
    if (atom.symbol)
      while (loop_symbol(static_cast<int>(factor.axis)) != *atom.symbol) ++factor.axis;
    for (const Expr& arg : atom.args) factor.args.push_back(tree_of(arg, sizes));
    if (!atom.symbol && std::ranges::all_of(factor.args, is_constant)) {
      product.coefficient = wrap_mul(product.coefficient, factor_value(factor, {}));
    } else {
      product.factors.push_back(std::move(factor));
    }
  }
  return product;
}

IndexTree tree_of(const Expr& e, const Sizes& sizes) {
  IndexTree tree;
  for (const Term& term : e.terms()) tree.terms.push_back(product_of(term, sizes));
  return tree;
}

}  // namespace

Symbol loop_symbol(int axis) {
  constexpr int kKnown = 64;
  static const std::vector<Symbol> known = [] {
    std::vector<Symbol> all;
    for (int k = 0; k < kKnown; ++k) all.push_back(*Expr::loop(k).as_symbol());
    return all;
  }();
  return axis < kKnown ? known[static_cast<std::size_t>(axis)] : *Expr::loop(axis).as_symbol();
}

IndexTree index_tree(const Expr& e, const Sizes& sizes) { return tree_of(e, sizes); }

void axes_of(const IndexTree::Product& product, std::set<std::size_t>& axes) {
  for (const IndexTree::Factor& f : product.factors) {
    if (f.kind == Atom::Kind::symbol) axes.insert(f.axis);
    for (const IndexTree& arg : f.args)
      for (const IndexTree::Product& inner : arg.terms) axes_of(inner, axes);
  }
}

std::int64_t IndexTree::value(std::span<const std::int64_t> index) const {
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
  for (; first > 0 && (tail == 1 || tail * shape[first - 1] <= kTail); --first)
    tail *= shape[first - 1];
  extents.assign(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(first));
  extents.push_back(tail);
}

Walk::Walk(const Extents& shape, std::int64_t first) : shape_(shape) {
  for (std::size_t k = shape.size(); k-- > 0;) {
    index_[k] = first == 0 ? 0 : first % shape[k];
    if (first != 0) first /= shape[k];
  }
}

std::int64_t IndexFunction::Part::at(std::int64_t index) const {
  return table.empty() ? wrap_mul(step, index) : table[static_cast<std::size_t>(index)];
}

IndexFunction::IndexFunction(const Expr& e, const Rows& rows, const Sizes& sizes) : rows_(rows) {
  std::vector<Part> parts(rows.shape.size());
  Extents index(rows.shape.size(), 0);
  IndexTree within;  // terms of several merged axes
  std::map<std::vector<std::size_t>, IndexTree> mixed;
  const IndexTree tree = tree_of(e, sizes);
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
  make_pattern();
}

/// Adds a term of one axis.
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

/// Makes the part of the merged axes from the parts of each.
void IndexFunction::make_along(const std::vector<Part>& inner, const IndexTree& within) {
  const auto is_level = [](const Part& p) { return p.table.empty() && p.step == 0; };
  if (within.terms.empty() && std::ranges::all_of(inner, is_level)) return;
  const auto begin = rows_.shape.begin() + static_cast<std::ptrdiff_t>(rows_.first);
  const auto is_long = [](std::int64_t extent) { return extent != 1; };
  if (within.terms.empty() && std::count_if(begin, rows_.shape.end(), is_long) <= 1) {
    const auto only = std::find_if(begin, rows_.shape.end(), is_long) - begin;
    const auto at = std::min(static_cast<std::size_t>(only), inner.size() - 1);
    for (std::size_t k = 0; k < inner.size(); ++k)
      if (k != at) constant_ = wrap_add(constant_, inner[k].at(0));
    along_ = inner[at];
    return;
  }
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

/// Returns false if a table would take longer than computing the requested values.
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

/// Makes the pattern if rows are short and all alike.
void IndexFunction::make_pattern() {
  const std::int64_t length = rows_.extents.back();
  const auto is_level = [](const Part& p) { return p.table.empty() && p.step == 0; };
  if (length == 0 || length >= Rows::kShort || !is_apart() || rows_.first == 0) return;
  if (!std::ranges::all_of(outer_, is_level)) return;
  for (std::int64_t k = 0; k < kBlock + length; ++k)
    pattern_.push_back(wrap_add(constant_, along_.at(k % length)));
}

void IndexFunction::fill(std::int64_t first, std::int64_t count, std::int64_t* out) const {
  if (!pattern_.empty())
    return (void)std::copy_n(pattern_.begin() + first % rows_.extents.back(), count, out);
  fill_by_runs(rows_.extents, first, count, out,
               [&](const Walk& walk, std::int64_t n, std::int64_t* to) { values(walk, n, to); });
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

}  // namespace mote::blocks
