// SPDX-License-Identifier: Apache-2.0
// Map: broadcasting of its arguments, plain numbers, folding of constants; and Reindex, with the
// simplifications that keep its meaning exactly.
#include <fmt/format.h>

#include <algorithm>

#include "graph/node.h"
#include "mote/base/error.h"
#include "program/view.h"

namespace mote {
namespace {

// The common shape of the arguments has on each axis the first extent that is not the constant 1.
struct Common {
  std::vector<Expr> shape;
  std::vector<std::string> names;
};

Common common_shape(MapOp op, const std::vector<Uop>& args) {
  Common common;
  const Uop* first = nullptr;
  for (const Uop& a : args) {
    if (a.rank() == 0) continue;
    if (!first) {
      first = &a;
      common = {a.shape(), a.node().axis_names};
      continue;
    }
    if (a.rank() != first->rank())
      throw Error(fmt::format("Map {}: ranks {} and {} differ ({}, {})", name(op), first->rank(),
                              a.rank(), type_text(*first), type_text(a)));
    for (std::size_t k = 0; k < common.shape.size(); ++k) {
      Expr& extent = common.shape[k];
      const Expr& other = a.shape()[k];
      if (common.names[k].empty()) common.names[k] = a.node().axis_names[k];
      if (extent == Expr(1))
        extent = other;
      else if (other != Expr(1) && extent != other && extent.constant() && other.constant())
        throw Error(fmt::format("Map {}: axis {}: sizes {} and {} differ ({}, {})", name(op), k,
                                extent.to_string(), other.to_string(), type_text(*first),
                                type_text(a)));
    }
  }
  return common;
}

// Repeats x along the axes where it has the constant extent 1 and `common` has another.
Uop spread(const Uop& x, const Common& common) {
  if (is_bare(x)) return x;
  std::vector<Expr> from, shape;
  bool repeats = x.rank() == 0 && !common.shape.empty();
  for (std::size_t k = 0; k < x.shape().size(); ++k) {
    const bool here = x.shape()[k] == Expr(1) && common.shape[k] != Expr(1);
    from.push_back(here ? Expr(0) : Expr::loop(static_cast<int>(k)));
    shape.push_back(here ? common.shape[k] : x.shape()[k]);
    repeats = repeats || here;
  }
  if (!repeats) return x;
  return make_reindex(x, x.rank() == 0 ? common.shape : shape, common.names, std::move(from),
                      constant_of(0, x.dtype(), "Map"), {});
}

// Returns true if each index of `from` is known to be inside `x_shape`: a loop over an axis of the
// same extent, or a constant below a constant.
bool surely_inside(const std::vector<Expr>& from, const std::vector<Expr>& x_shape,
                   const std::vector<Expr>& shape) {
  for (std::size_t k = 0; k < from.size(); ++k) {
    const auto c = from[k].constant();
    const auto extent = x_shape[k].constant();
    bool inside = c && extent && *c >= 0 && *c < *extent;
    for (std::size_t j = 0; j < shape.size() && !inside; ++j)
      inside = from[k] == Expr::loop(static_cast<int>(j)) && shape[j] == x_shape[k];
    if (!inside) return false;
  }
  return true;
}

bool is_identity(const std::vector<Expr>& from) {
  for (std::size_t k = 0; k < from.size(); ++k)
    if (from[k] != Expr::loop(static_cast<int>(k))) return false;
  return true;
}

// Fills the names that x lacks, for a Reindex that turns out to be x itself.
Uop renamed(const Uop& x, const std::vector<std::string>& names) {
  std::vector<std::string> merged = x.node().axis_names;
  for (std::size_t k = 0; k < merged.size(); ++k)
    if (merged[k].empty()) merged[k] = names[k];
  const bool is_input = std::holds_alternative<uop::Input>(x.node().kind);
  if (is_input || merged == x.node().axis_names) return x;
  return make_node(x.node().kind, x.dtype(), x.shape(), std::move(merged));
}

// Returns the dtype that plain numbers among the arguments take: that of the first tensor argument.
DType number_dtype(MapOp op, const std::vector<Operand>& args) {
  for (std::size_t k = op == MapOp::where ? 1 : 0; k < args.size(); ++k)
    if (args[k].uop) return args[k].uop.dtype();
  throw Error(fmt::format("Map {}: no argument is a tensor, so that plain numbers have no dtype",
                          name(op)));
}

}  // namespace

Uop make_reindex(const Uop& x, std::vector<Expr> shape, std::vector<std::string> names,
                 std::vector<Expr> from, Number fill, std::vector<Constraint> constraints) {
  if (surely_inside(from, x.shape(), shape)) {
    fill = constant_of(0, x.dtype(), "Reindex");
    if (constraints.empty() && shape == x.shape() && is_identity(from)) return renamed(x, names);
    const auto* inner = std::get_if<uop::Reindex>(&x.node().kind);
    if (inner && inner->constraints.empty()) {
      std::map<Symbol, Expr> env;
      for (std::size_t k = 0; k < from.size(); ++k)
        env.emplace(*Expr::loop(static_cast<int>(k)).as_symbol(), from[k]);
      std::vector<Expr> merged;
      for (const Expr& e : inner->from) merged.push_back(e.substitute(env));
      return make_reindex(inner->x, std::move(shape), std::move(names), std::move(merged),
                          inner->fill, std::move(constraints));
    }
  }
  const DType dtype = x.dtype();
  return make_node(uop::Reindex{x, std::move(from), fill, std::move(constraints)}, dtype,
                   std::move(shape), std::move(names));
}

Uop map(MapOp op, const std::vector<Uop>& args) {
  if (op == MapOp::cast) throw Error("Map cast: use cast(x, dtype)");
  std::vector<DType> dtypes;
  for (const Uop& a : args) dtypes.push_back(a.dtype());
  const DType dtype = result_dtype(op, dtypes, DType::f64);
  std::vector<Number> values;
  for (const Uop& a : args)
    if (const auto* s = std::get_if<uop::Scalar>(&a.node().kind)) values.push_back(s->value);
  if (values.size() == args.size()) {
    const Number value = apply(op, values, dtypes.back(), dtype);
    // An integer is narrowed only where it is stored: a value out of its range stays a Map.
    if (!is_integer(dtype) || identical(value, store_as(value, dtype)))
      return make_node(uop::Scalar{value}, dtype, {}, {});
  }
  const Common common = common_shape(op, args);
  std::vector<Uop> full;
  for (const Uop& a : args) full.push_back(spread(a, common));
  return make_node(uop::Map{op, std::move(full)}, dtype, common.shape, common.names);
}

Uop map(MapOp op, const std::vector<Operand>& args) {
  std::vector<Uop> uops;
  for (const Operand& a : args) {
    if (a.uop)
      uops.push_back(a.uop);
    else
      uops.push_back(
          make_node(uop::Scalar{constant_of(std::get<Number>(a.number), number_dtype(op, args),
                                            fmt::format("Map {}", name(op)))},
                    number_dtype(op, args), {}, {}));
  }
  return map(op, uops);
}

}  // namespace mote
