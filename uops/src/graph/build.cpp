// SPDX-License-Identifier: Apache-2.0
// Builders of single nodes: they check dtypes, ranks and constant sizes at once, and name the uop,
// the axis and the sizes in errors. make_program checks symbolic sizes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/node.h"
#include "mote/base/error.h"

namespace mote {
namespace {

// The checked extents, names and stated equalities of a shape.
struct CheckedShape {
  std::vector<Expr> extents;
  std::vector<std::string> names;
  std::vector<Constraint> constraints;
};

void check_extent(const Expr& extent, std::string_view what, std::size_t axis) {
  const std::optional<std::int64_t> c = extent.constant();
  if (c && *c < 0) throw Error(fmt::format("{}: axis {}: extent {} is negative", what, axis, *c));
  if (extent.has_load())
    throw Error(
        fmt::format("{}: axis {}: extent {} reads a tensor", what, axis, extent.to_string()));
  for (const Symbol s : extent.symbols())
    if (s.kind() == SymbolKind::loop)
      throw Error(fmt::format("{}: axis {}: extent {} mentions the loop variable {}", what, axis,
                              extent.to_string(), s.to_string()));
}

CheckedShape checked(const Shape& shape, std::string_view what, bool is_input = false) {
  if (shape.size() > kMaxRank)
    throw Error(fmt::format("{}: rank {} is above {}", what, shape.size(), kMaxRank));
  CheckedShape result;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const Axis& a = shape[k];
    check_extent(a.extent, what, k);
    if (a.broadcast && !is_input)
      throw Error(fmt::format("{}: axis {}: 1|{} is for axes of inputs only", what, k,
                              a.extent.to_string()));
    result.extents.push_back(a.extent);
    result.names.push_back(a.name);
    result.constraints.insert(result.constraints.end(), a.constraints.begin(), a.constraints.end());
  }
  return result;
}

// Indices may mention only loop variables of existing axes, and no loads.
void check_index(const Expr& e, std::size_t rank, std::string_view what) {
  if (e.has_load()) throw Error(fmt::format("{}: index {} reads a tensor", what, e.to_string()));
  for (const Symbol s : e.symbols()) {
    if (s.kind() != SymbolKind::loop) continue;
    bool known = false;
    for (std::size_t k = 0; k < rank && !known; ++k)
      known = s == *Expr::loop(static_cast<int>(k)).as_symbol();
    if (!known)
      throw Error(fmt::format("{}: index {} mentions {}, but the rank is {}", what, e.to_string(),
                              s.to_string(), rank));
  }
}

std::vector<int> checked_axes(const Uop& x, std::vector<int> axes, std::string_view what) {
  std::sort(axes.begin(), axes.end());
  if (axes.empty()) throw Error(fmt::format("{}: no axes are given", what));
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (axes[k] < 0 || axes[k] >= x.rank())
      throw Error(fmt::format("{}: axis {} is out of range for {}", what, axes[k], type_text(x)));
    if (k > 0 && axes[k] == axes[k - 1])
      throw Error(fmt::format("{}: axis {} is given twice", what, axes[k]));
  }
  return axes;
}

bool is_integral(double x) { return x >= -0x1p63 && x < 0x1p63 && x == std::trunc(x); }

}  // namespace

Number constant_of(const Number& n, DType dtype, std::string_view what) {
  if (is_real(dtype)) return n.is_real() ? n.real() : static_cast<double>(n.integer());
  const auto refuse = [&]() -> Error {
    const std::string text =
        n.is_real() ? fmt::format("{}", n.real()) : fmt::format("{}", n.integer());
    return Error(fmt::format("{}: {} is not a value of {}", what, text, name(dtype)));
  };
  if (n.is_real() && !is_integral(n.real())) throw refuse();
  const std::int64_t value = n.is_real() ? static_cast<std::int64_t>(n.real()) : n.integer();
  const IntegerRange range = integer_range(dtype);
  if (value < range.least || value > range.greatest) throw refuse();
  return Number(value);
}

Uop input(std::string_view name, DType dtype, const Shape& shape) {
  const std::string what = fmt::format("Input {}", name);
  if (!is_identifier(name))
    throw Error(fmt::format("{}: an input's name is letters, digits and _", what));
  if (std::isdigit(static_cast<unsigned char>(name.back())))
    throw Error(fmt::format("{}: an input's name must not end in a digit (d{}0 would be ambiguous)",
                            what, name));
  CheckedShape s = checked(shape, what, true);
  if (!s.constraints.empty())
    throw Error(fmt::format("{}: {}[={}] cannot stand in an input's shape, state it as a require",
                            what, s.constraints[0].left.to_string(),
                            s.constraints[0].right.to_string()));
  std::vector<bool> broadcast;
  for (const Axis& a : shape) broadcast.push_back(a.broadcast);
  return make_node(uop::Input{std::string(name), std::move(broadcast)}, dtype, std::move(s.extents),
                   std::move(s.names));
}

Uop input(std::string_view name, DType dtype, int rank) {
  if (rank < 0 || rank > kMaxRank)
    throw Error(fmt::format("Input {}: rank {} is not in 0..{}", name, rank, kMaxRank));
  Shape shape;
  for (int k = 0; k < rank; ++k) shape.emplace_back(Expr::size(fmt::format("d{}{}", name, k)));
  return input(name, dtype, shape);
}

Uop scalar(Number value, DType dtype) {
  return make_node(uop::Scalar{constant_of(value, dtype, "Scalar")}, dtype, {}, {});
}

Uop param(std::string_view name, DType dtype) {
  if (!is_identifier(name)) throw Error(fmt::format("Param: '{}' is not a name", name));
  return make_node(uop::Param{std::string(name)}, dtype, {}, {});
}

Uop iota(const IndexText& value, const Shape& shape) {
  CheckedShape s = checked(shape, "Iota");
  check_index(value.expr, shape.size(), "Iota");
  s.constraints.insert(s.constraints.end(), value.constraints.begin(), value.constraints.end());
  const Uop node = make_node(uop::Iota{value.expr}, DType::i64, s.extents, s.names);
  if (s.constraints.empty()) return node;
  // An Iota cannot hold equalities: a Reindex that reads it unchanged carries them.
  std::vector<Expr> from;
  for (int k = 0; k < node.rank(); ++k) from.push_back(Expr::loop(k));
  return make_reindex(node, s.extents, s.names, from, Number(0), s.constraints);
}

Uop reindex(const Uop& x, const Shape& shape, const std::vector<IndexText>& from, Number fill) {
  if (from.size() != x.shape().size())
    throw Error(
        fmt::format("Reindex: {} needs {} indices, got {}", type_text(x), x.rank(), from.size()));
  CheckedShape s = checked(shape, "Reindex");
  std::vector<Expr> index;
  for (const IndexText& f : from) {
    check_index(f.expr, shape.size(), "Reindex");
    index.push_back(f.expr);
    s.constraints.insert(s.constraints.end(), f.constraints.begin(), f.constraints.end());
  }
  return make_reindex(x, std::move(s.extents), std::move(s.names), std::move(index),
                      constant_of(fill, x.dtype(), "Reindex: fill"), std::move(s.constraints));
}

Uop broadcast(const Uop& x, const Shape& shape, const std::vector<int>& axes) {
  if (axes.size() != x.shape().size())
    throw Error(
        fmt::format("broadcast: {} needs {} axes, got {}", type_text(x), x.rank(), axes.size()));
  CheckedShape s = checked(shape, "broadcast");
  std::vector<Expr> from;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (axes[k] < 0 || axes[k] >= static_cast<int>(shape.size()))
      throw Error(
          fmt::format("broadcast: axis {} is out of range for {}", axes[k], shape_text(s.extents)));
    const Expr& mine = x.shape()[k];
    const Expr& theirs = s.extents[static_cast<std::size_t>(axes[k])];
    const bool repeats = mine == Expr(1) && theirs != Expr(1);
    if (!repeats && mine != theirs) {
      if (mine.constant() && theirs.constant())
        throw Error(fmt::format(
            "broadcast: axis {} of {} runs along axis {} of {}: sizes {} and "
            "{} differ",
            k, type_text(x), axes[k], shape_text(s.extents), mine.to_string(), theirs.to_string()));
      s.constraints.push_back({mine, theirs});
    }
    from.push_back(repeats ? Expr(0) : Expr::loop(axes[k]));
  }
  return make_reindex(x, std::move(s.extents), std::move(s.names), std::move(from),
                      constant_of(0, x.dtype(), "broadcast"), std::move(s.constraints));
}

Uop cast(const Uop& x, DType dtype) {
  // A cast to the same dtype still rounds and wraps if that is narrow; else it does nothing.
  if (x.dtype() == dtype && is_wide(dtype)) return x;
  if (const auto* s = std::get_if<uop::Scalar>(&x.node().kind)) {
    const Number value = apply(MapOp::cast, std::vector<Number>{s->value}, x.dtype(), dtype);
    return make_node(uop::Scalar{value}, dtype, {}, {});
  }
  // A count or a position stays exact: the mean of 2^24 + 1 elements divides by exactly that.
  if (std::holds_alternative<uop::Iota>(x.node().kind) && x.dtype() == DType::i64 && is_real(dtype))
    return make_node(x.node().kind, dtype, x.shape(), x.node().axis_names);
  return make_node(uop::Map{MapOp::cast, {x}}, dtype, x.shape(), x.node().axis_names);
}

Uop reduce(ReduceOp op, const Uop& x, const std::vector<int>& axes) {
  const std::string what = fmt::format("Reduce {}", name(op));
  std::vector<int> sorted = checked_axes(x, axes, what);
  const bool logical = op == ReduceOp::any || op == ReduceOp::all;
  const bool arithmetic = op == ReduceOp::sum || op == ReduceOp::prod;
  if ((logical && x.dtype() != DType::boolean) || (arithmetic && x.dtype() == DType::boolean))
    throw Error(fmt::format("{}: the argument must {} bool, got {}", what,
                            logical ? "be" : "not be", type_text(x)));
  std::vector<Expr> shape;
  std::vector<std::string> names;
  for (int k = 0; k < x.rank(); ++k) {
    if (std::binary_search(sorted.begin(), sorted.end(), k)) continue;
    shape.push_back(x.shape()[static_cast<std::size_t>(k)]);
    names.push_back(x.node().axis_names[static_cast<std::size_t>(k)]);
  }
  const bool position = op == ReduceOp::argmax || op == ReduceOp::argmin;
  return make_node(uop::Reduce{op, x, std::move(sorted)}, position ? DType::i64 : x.dtype(),
                   std::move(shape), std::move(names));
}

namespace {

// Checks axis, ranks, the index's dtype and constant sizes of Select and SelectScatter: `x` is the
// tensor that the index points into.
void check_index_tensor(std::string_view what, const Uop& x, int axis, const Uop& index) {
  if (axis < 0 || axis >= x.rank())
    throw Error(fmt::format("{}: axis {} is out of range for {}", what, axis, type_text(x)));
  if (!is_integer(index.dtype()))
    throw Error(fmt::format("{}: the index must be an integer, got {}", what, type_text(index)));
  if (index.rank() != x.rank())
    throw Error(fmt::format("{}: ranks of {} and of the index {} differ", what, type_text(x),
                            type_text(index)));
  for (int k = 0; k < x.rank(); ++k) {
    if (k == axis) continue;
    const auto a = x.shape()[static_cast<std::size_t>(k)].constant();
    const auto b = index.shape()[static_cast<std::size_t>(k)].constant();
    if (a && b && *a != *b)
      throw Error(fmt::format("{}: axis {}: sizes {} and {} differ ({}, index {})", what, k, *a, *b,
                              type_text(x), type_text(index)));
  }
}

void check_scattered(std::string_view what, ScatterOp op, const Uop& base, const Uop& x) {
  if (base.dtype() != x.dtype())
    throw Error(fmt::format("{}: dtypes of base and x differ: {} and {}", what, type_text(base),
                            type_text(x)));
  if (base.dtype() == DType::boolean && (op == ScatterOp::add || op == ScatterOp::mul))
    throw Error(fmt::format("{}: dtype must not be bool, got {}", what, type_text(base)));
}

}  // namespace

Uop select(const Uop& x, int axis, const Uop& index, Number fill) {
  check_index_tensor("Select", x, axis, index);
  std::vector<std::string> names = index.node().axis_names;
  for (std::size_t k = 0; k < names.size(); ++k)
    if (names[k].empty()) names[k] = x.node().axis_names[k];
  return make_node(uop::Select{x, axis, index, constant_of(fill, x.dtype(), "Select: fill")},
                   x.dtype(), index.shape(), std::move(names));
}

Uop scatter(ScatterOp op, const Uop& base, const Uop& x, const std::vector<IndexText>& to) {
  const std::string what = fmt::format("Scatter {}", name(op));
  check_scattered(what, op, base, x);
  if (to.size() != base.shape().size())
    throw Error(fmt::format("{}: {} needs {} indices, got {}", what, type_text(base), base.rank(),
                            to.size()));
  std::vector<Expr> index;
  std::vector<Constraint> constraints;
  for (const IndexText& t : to) {
    check_index(t.expr, x.shape().size(), what);
    index.push_back(t.expr);
    constraints.insert(constraints.end(), t.constraints.begin(), t.constraints.end());
  }
  return make_node(uop::Scatter{op, base, x, std::move(index), std::move(constraints)},
                   base.dtype(), base.shape(), base.node().axis_names);
}

Uop select_scatter(ScatterOp op, const Uop& base, const Uop& x, int axis, const Uop& index) {
  const std::string what = fmt::format("SelectScatter {}", name(op));
  check_scattered(what, op, base, x);
  check_index_tensor(what, base, axis, index);
  if (x.rank() != index.rank())
    throw Error(fmt::format("{}: ranks of {} and of the index {} differ", what, type_text(x),
                            type_text(index)));
  for (std::size_t k = 0; k < x.shape().size(); ++k) {
    const auto a = x.shape()[k].constant();
    const auto b = index.shape()[k].constant();
    if (a && b && *a != *b)
      throw Error(fmt::format("{}: axis {}: sizes {} and {} differ ({}, index {})", what, k, *a, *b,
                              type_text(x), type_text(index)));
  }
  return make_node(uop::SelectScatter{op, base, x, axis, index}, base.dtype(), base.shape(),
                   base.node().axis_names);
}

Uop stop_gradient(const Uop& x) {
  return make_node(uop::StopGradient{x}, x.dtype(), x.shape(), x.node().axis_names);
}

Uop squeeze(const Uop& x, const std::vector<int>& axes) {
  const std::vector<int> sorted = checked_axes(x, axes, "squeeze");
  std::vector<Expr> shape, from;
  std::vector<std::string> names;
  std::vector<Constraint> constraints;
  for (int k = 0; k < x.rank(); ++k) {
    const Expr& extent = x.shape()[static_cast<std::size_t>(k)];
    if (!std::binary_search(sorted.begin(), sorted.end(), k)) {
      from.push_back(Expr::loop(static_cast<int>(shape.size())));
      shape.push_back(extent);
      names.push_back(x.node().axis_names[static_cast<std::size_t>(k)]);
      continue;
    }
    if (extent.constant() && *extent.constant() != 1)
      throw Error(fmt::format("squeeze: axis {} of {} has size {}, expected 1", k, type_text(x),
                              extent.to_string()));
    if (!extent.constant()) constraints.push_back({extent, Expr(1)});
    from.emplace_back(0);
  }
  return make_reindex(x, std::move(shape), std::move(names), std::move(from),
                      constant_of(0, x.dtype(), "squeeze"), std::move(constraints));
}

}  // namespace mote
