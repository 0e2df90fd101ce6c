// SPDX-License-Identifier: Apache-2.0
// The root of trust computes each node, operands first, over its whole shape by its definition. It
// shares no code with lowering, except apply() for scalars and evaluate(Expr) for indices.
#include "mote/uops/evaluate.h"

#include <fmt/format.h>

#include <cmath>
#include <unordered_map>

#include "graph/array.h"
#include "graph/node.h"
#include "mote/base/error.h"

namespace mote {
namespace {

using Index = std::vector<std::int64_t>;

std::size_t row_major(const Index& index, const Index& shape) {
  std::int64_t offset = 0;
  for (std::size_t k = 0; k < shape.size(); ++k) offset = offset * shape[k] + index[k];
  return static_cast<std::size_t>(offset);
}

bool inside(const Index& index, const Index& shape) {
  for (std::size_t k = 0; k < shape.size(); ++k)
    if (index[k] < 0 || index[k] >= shape[k]) return false;
  return true;
}

/// Calls f(index) for every index of shape, in row-major order.
template <typename F>
void for_each_index(const Index& shape, const F& f) {
  Index index(shape.size(), 0);
  for (std::int64_t n = element_count(shape); n > 0; --n) {
    f(index);
    for (std::size_t k = shape.size(); k-- > 0;) {
      if (++index[k] < shape[k]) break;
      index[k] = 0;
    }
  }
}

class Evaluator {
 public:
  Evaluator(const Program& program, const std::vector<Array>& inputs, const Binding& binding)
      : program_(program), inputs_(inputs), binding_(binding) {
    for (int k = 0; k < kMaxRank; ++k) loops_.push_back(*Expr::loop(k).as_symbol());
  }

  Array compute(const Uop& u) {
    Array y{u.dtype(), {}, {}};
    for (const Expr& e : u.shape()) y.shape.push_back(evaluate(e, binding_.values));
    std::visit(Overloaded{[&](const uop::Scatter& s) { write(s, y); },
                          [&](const uop::SelectScatter& s) { write(s, y); },
                          [&](const auto& kind) {
                            for_each_index(y.shape, [&](const Index& i) {
                              y.values.push_back(element(kind, u, i));
                            });
                          }},
               u.node().kind);
    return y;
  }
  void keep(const Uop& u, Array y) { done_.emplace(u.id(), std::move(y)); }
  const Array& value(const Uop& u) const { return done_.at(u.id()); }

 private:
  // Returns y[i], for each kind of node.
  Number element(const uop::Input& in, const Uop&, const Index& i) const {
    const Array& x = inputs_[static_cast<std::size_t>(*find_input(program_, in.name))];
    Index j(i.end() - static_cast<std::ptrdiff_t>(x.shape.size()), i.end());
    for (std::size_t k = 0; k < j.size(); ++k)  // an axis of extent 1 repeats
      if (in.broadcast[k + i.size() - j.size()] && x.shape[k] == 1) j[k] = 0;
    return x.values[row_major(j, x.shape)];
  }
  static Number element(const uop::Scalar& s, const Uop&, const Index&) { return s.value; }
  Number element(const uop::Param& p, const Uop& u, const Index&) const {
    const Number& n = binding_.params.at(p.name);
    return is_real(u.dtype())      ? store_as(n, DType::f64)  // computed in double, not rounded
           : is_integer(u.dtype()) ? store_as(n, DType::i64)
                                   : store_as(n, u.dtype());
  }
  Number element(const uop::Iota& iota, const Uop& u, const Index& i) const {
    const std::int64_t v = index_value(iota.value, i);
    return is_real(u.dtype()) ? Number(static_cast<double>(v)) : Number(v);
  }
  Number element(const uop::Reindex& r, const Uop&, const Index& i) const {
    Index j;
    for (const Expr& e : r.from) j.push_back(index_value(e, i));
    return inside(j, value(r.x).shape) ? at(r.x, j) : r.fill;
  }
  Number element(const uop::Map& m, const Uop& u, const Index& i) const {
    Number args[3];
    for (std::size_t k = 0; k < m.args.size(); ++k) args[k] = at(m.args[k], i);
    return apply(m.op, {args, m.args.size()}, m.args.back().dtype(), u.dtype());
  }
  Number element(const uop::Reduce& r, const Uop&, const Index& i) const {
    const Index& shape = value(r.x).shape;
    Index j(shape.size()), reduced;
    for (const int axis : r.axes) reduced.push_back(shape[static_cast<std::size_t>(axis)]);
    std::vector<Number> terms;
    for_each_index(reduced, [&](const Index& t) {
      for (std::size_t k = 0, kept = 0, gone = 0; k < j.size(); ++k)
        j[k] = gone < t.size() && r.axes[gone] == static_cast<int>(k) ? t[gone++] : i[kept++];
      terms.push_back(at(r.x, j));
    });
    return fold(r.op, terms, r.x.dtype());
  }
  Number element(const uop::Select& s, const Uop&, const Index& i) const {
    Index j = i;
    j[static_cast<std::size_t>(s.axis)] = at(s.index, i).integer();
    return inside(j, value(s.x).shape) ? at(s.x, j) : s.fill;
  }
  Number element(const uop::StopGradient& s, const Uop&, const Index& i) const {
    return at(s.x, i);
  }

  // Computes all of y: base, then one write for each element of x.
  void write(const uop::Scatter& s, Array& y) const {
    y.values = value(s.base).values;
    for_each_index(value(s.x).shape, [&](const Index& i) {
      Index j;
      for (const Expr& e : s.to) j.push_back(index_value(e, i));
      combine(s.op, y, j, at(s.x, i));
    });
  }
  void write(const uop::SelectScatter& s, Array& y) const {
    y.values = value(s.base).values;
    for_each_index(value(s.x).shape, [&](const Index& i) {
      Index j = i;
      j[static_cast<std::size_t>(s.axis)] = at(s.index, i).integer();
      combine(s.op, y, j, at(s.x, i));
    });
  }
  static void combine(ScatterOp op, Array& y, const Index& j, const Number& x) {
    if (!inside(j, y.shape)) return;
    Number& old = y.values[row_major(j, y.shape)];
    old = apply(op, old, x, y.dtype);
  }

  // Folds the terms in row-major order, beginning with the neutral value.
  static Number fold(ReduceOp op, const std::vector<Number>& terms, DType dtype) {
    if (op == ReduceOp::argmax || op == ReduceOp::argmin) return first_best(op, terms, dtype);
    const MapOp step = op == ReduceOp::sum    ? MapOp::add
                       : op == ReduceOp::prod ? MapOp::mul
                       : op == ReduceOp::max  ? MapOp::max
                       : op == ReduceOp::min  ? MapOp::min
                       : op == ReduceOp::any  ? MapOp::logical_or
                                              : MapOp::logical_and;
    Number result = neutral(op, dtype);
    for (const Number& x : terms) result = apply(step, std::vector{result, x}, dtype, dtype);
    return result;
  }
  // Returns the position of the first NaN if there is one, else of the first greatest (least) term.
  static Number first_best(ReduceOp op, const std::vector<Number>& terms, DType dtype) {
    const auto is_nan = [](const Number& n) { return n.is_real() && std::isnan(n.real()); };
    const auto less = [](const Number& a, const Number& b) {
      return a.is_real() ? a.real() < b.real() : a.integer() < b.integer();
    };
    if (terms.empty()) throw Error(fmt::format("{} over nothing ({})", name(op), name(dtype)));
    std::size_t best = 0;
    for (std::size_t k = 1; k < terms.size() && !is_nan(terms[best]); ++k) {
      const bool better =
          op == ReduceOp::argmax ? less(terms[best], terms[k]) : less(terms[k], terms[best]);
      if (better || is_nan(terms[k])) best = k;
    }
    return Number(static_cast<std::int64_t>(best));
  }

  // Returns x[i]; a rank-0 operand of a Map fits any index.
  Number at(const Uop& x, const Index& i) const {
    const Array& a = value(x);
    return a.values[a.shape.empty() ? 0 : row_major(i, a.shape)];
  }
  std::int64_t index_value(const Expr& e, const Index& i) const {
    const auto symbol = [&](Symbol s) -> std::int64_t {
      for (std::size_t k = 0; k < i.size(); ++k)
        if (loops_[k] == s) return i[k];
      return binding_.values.at(s);
    };
    return evaluate(e, Environment{symbol, nullptr});
  }

  const Program& program_;
  const std::vector<Array>& inputs_;
  const Binding& binding_;
  std::vector<Symbol> loops_;  ///< i0, i1, …
  std::unordered_map<const UopNode*, Array> done_;
};

}  // namespace

std::vector<Array> evaluate(const Program& program, const std::vector<Array>& inputs,
                            const std::map<std::string, Number>& params) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const Array& a : inputs) shapes.push_back(a.shape);
  const Binding binding = mote::bind(program, shapes, params);
  for (std::size_t k = 0; k < inputs.size(); ++k) check_array(program, k, inputs[k]);
  const std::vector<Uop> wanted = roots(program);
  Evaluator evaluator(program, inputs, binding);
  for (const Uop& u : topological(wanted)) evaluator.keep(u, evaluator.compute(u));
  std::vector<Array> results;
  for (const Uop& u : wanted) {
    results.push_back(evaluator.value(u));
    for (Number& n : results.back().values) n = store_as(n, u.dtype());
  }
  return results;
}

}  // namespace mote
