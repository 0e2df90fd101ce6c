// SPDX-License-Identifier: Apache-2.0
// Evaluates each node by its definition, on dual numbers.
#include "dual.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <unordered_map>

#include "dual_scalar.h"
#include "mote/base/overloaded.h"

namespace mote::test {
namespace {

using Index = std::vector<std::int64_t>;

/// Calls f(index) for every index of shape, the last axis fastest.
template <typename F>
void each(const Index& shape, const F& f) {
  for (const std::int64_t n : shape)
    if (n <= 0) return;
  Index i(shape.size(), 0);
  while (true) {
    f(i);
    std::size_t k = shape.size();
    while (k > 0 && ++i[k - 1] == shape[k - 1]) i[--k] = 0;
    if (k == 0) return;
  }
}

class DualEvaluator {
 public:
  DualEvaluator(const Program& p, const std::vector<DualArray>& inputs,
                const std::map<std::string, Number>& params)
      : p_(p), inputs_(inputs) {
    std::vector<Index> shapes;
    for (const DualArray& a : inputs) shapes.push_back(a.shape);
    binding_ = mote::bind(p, shapes, params);
    for (int k = 0; k < kMaxRank; ++k) loops_.push_back(*Expr::loop(k).as_symbol());
  }

  std::vector<DualArray> run() {
    const std::vector<Uop> wanted = roots(p_);
    for (const Uop& u : topological(wanted)) {
      const DualArray& y = done_[u.id()] = compute(u);
      for (const std::int64_t n : y.integers)
        decisions_ = (decisions_ ^ static_cast<std::uint64_t>(n)) * 0x100000001b3U;
    }
    std::vector<DualArray> results;
    for (const Uop& u : wanted) results.push_back(done_.at(u.id()));
    return results;
  }

  DualTrace trace() const {
    DualTrace t;
    t.finite = !has_no_slope_;
    t.decisions = decisions_;
    for (const auto& [node, array] : done_) {
      t.elements += array.reals.size();
      for (const Dual& d : array.reals)
        for (const Quad x : {d.value, d.tangent}) {
          t.finite = t.finite && x - x == 0;
          t.largest = std::max(t.largest, x < 0 ? -x : x);
        }
    }
    return t;
  }

 private:
  DualArray compute(const Uop& u) {
    DualArray y{u.dtype(), {}, {}, {}};
    for (const Expr& e : u.shape()) y.shape.push_back(evaluate(e, binding_.values));
    std::visit(
        Overloaded{
            [&](const uop::Scatter& k) { write(k.op, k.base, k.x, y, to_of(k)); },
            [&](const uop::SelectScatter& k) {
              write(k.op, k.base, k.x, y, [&](const Index& i) {
                Index j = i;
                j[static_cast<std::size_t>(k.axis)] = value(k.index).integers[at(k.index, i)];
                return j;
              });
            },
            [&](const auto& k) { each(y.shape, [&](const Index& i) { element(k, u, i, y); }); }},
        u.node().kind);
    return y;
  }

  // ---- reading

  const DualArray& value(const Uop& u) const { return done_.at(u.id()); }
  static std::optional<std::size_t> place(const Index& i, const Index& shape) {
    std::int64_t n = 0;
    for (std::size_t k = 0; k < shape.size(); ++k) {
      if (i[k] < 0 || i[k] >= shape[k]) return std::nullopt;
      n = n * shape[k] + i[k];
    }
    return static_cast<std::size_t>(n);
  }
  std::size_t at(const Uop& x, const Index& i) const { return *place(i, value(x).shape); }
  void copy(const DualArray& from, std::size_t k, DualArray& y) const {
    if (is_real(y.dtype))
      y.reals.push_back(from.reals[k]);
    else
      y.integers.push_back(from.integers[k]);
  }
  static void put(const Number& n, DualArray& y) {
    if (is_real(y.dtype))
      y.reals.push_back({n.is_real() ? Quad(n.real()) : Quad(n.integer()), 0});
    else
      y.integers.push_back(n.integer());
  }
  std::int64_t index_value(const Expr& e, const Index& i) const {
    const auto symbol = [&](Symbol s) -> std::int64_t {
      for (std::size_t k = 0; k < i.size(); ++k)
        if (s == loops_[k]) return i[k];
      return binding_.values.at(s);
    };
    return evaluate(e, Environment{symbol, nullptr});
  }
  std::function<Index(const Index&)> to_of(const uop::Scatter& k) const {
    return [this, &k](const Index& i) {
      Index j;
      for (const Expr& e : k.to) j.push_back(index_value(e, i));
      return j;
    };
  }

  // ---- elements

  void element(const uop::Input& k, const Uop&, const Index& i, DualArray& y) const {
    const DualArray& x = inputs_[static_cast<std::size_t>(*find_input(p_, k.name))];
    const std::size_t missing = i.size() - x.shape.size();
    Index j;
    for (std::size_t a = missing; a < i.size(); ++a)
      j.push_back(k.broadcast[a] && x.shape[a - missing] == 1 ? 0 : i[a]);
    copy(x, place(j, x.shape).value(), y);
  }
  void element(const uop::Scalar& k, const Uop&, const Index&, DualArray& y) const {
    put(k.value, y);
  }
  void element(const uop::Param& k, const Uop&, const Index&, DualArray& y) const {
    put(binding_.params.at(k.name), y);
  }
  void element(const uop::Iota& k, const Uop&, const Index& i, DualArray& y) const {
    put(Number(index_value(k.value, i)), y);
  }
  void element(const uop::Reindex& k, const Uop&, const Index& i, DualArray& y) const {
    Index j;
    for (const Expr& e : k.from) j.push_back(index_value(e, i));
    const auto found = place(j, value(k.x).shape);
    if (found)
      copy(value(k.x), *found, y);
    else
      put(k.fill, y);
  }
  void element(const uop::Select& k, const Uop&, const Index& i, DualArray& y) const {
    Index j = i;
    j[static_cast<std::size_t>(k.axis)] = value(k.index).integers[at(k.index, i)];
    const auto found = place(j, value(k.x).shape);
    if (found)
      copy(value(k.x), *found, y);
    else
      put(k.fill, y);
  }
  void element(const uop::StopGradient& k, const Uop&, const Index& i, DualArray& y) const {
    copy(value(k.x), at(k.x, i), y);
    if (is_real(y.dtype)) y.reals.back().tangent = 0;
  }
  void element(const uop::Map& k, const Uop& u, const Index& i, DualArray& y) const {
    std::vector<Dual> reals;
    std::vector<Number> integers;
    for (const Uop& a : k.args) {
      const std::size_t location = a.rank() == 0 ? 0 : at(a, i);
      if (is_real(a.dtype()))
        reals.push_back(value(a).reals[location]);
      else
        integers.emplace_back(value(a).integers[location]);
    }
    if (k.op == MapOp::pow && !reals.empty() &&
        has_no_slope(reals, k.args[0].rank() > 0, k.args[1].rank() > 0))
      has_no_slope_ = true;
    if (k.op == MapOp::where && is_real(u.dtype()))
      y.reals.push_back(integers[0].integer() != 0 ? reals[0] : reals[1]);
    else if (k.op == MapOp::cast)
      cast(k.args[0], reals, integers, y);
    else if (reals.empty())
      y.integers.push_back(apply(k.op, integers, k.args.back().dtype(), u.dtype()).integer());
    else if (is_real(u.dtype()))
      y.reals.push_back(apply_dual(k.op, reals));
    else
      y.integers.push_back(compare_dual(k.op, reals) ? 1 : 0);
  }
  /// A power of a negative number has no derivative with respect to an exponent that can vary. Nor
  /// has a root of 0 in a base that can: what changes the base by 0 is 0 times an infinite slope.
  static bool has_no_slope(const std::vector<Dual>& power, bool base_varies, bool exponent_varies) {
    const Quad base = power[0].value, exponent = power[1].value;
    return (exponent_varies && !(base >= 0)) ||
           (base_varies && base == 0 && exponent != 0 && exponent < 1);
  }
  static void cast(const Uop& x, const std::vector<Dual>& reals,
                   const std::vector<Number>& integers, DualArray& y) {
    if (!is_real(x.dtype()))
      put(is_real(y.dtype) ? integers[0] : store_as(integers[0], y.dtype), y);
    else if (is_real(y.dtype))
      y.reals.push_back(reals[0]);
    else if (y.dtype == DType::boolean)
      y.integers.push_back(reals[0].value != 0 ? 1 : 0);
    else
      put(store_as(Number(static_cast<double>(quad_trunc(reals[0].value))), y.dtype), y);
  }

  // ---- reductions

  void element(const uop::Reduce& k, const Uop& u, const Index& i, DualArray& y) const {
    const DualArray& x = value(k.x);
    Index extents;
    for (const int a : k.axes) extents.push_back(x.shape[static_cast<std::size_t>(a)]);
    std::vector<Dual> reals;
    std::vector<std::int64_t> integers;
    each(extents, [&](const Index& t) {
      Index j(x.shape.size(), -1);
      for (std::size_t n = 0; n < t.size(); ++n) j[static_cast<std::size_t>(k.axes[n])] = t[n];
      auto outer = i.begin();
      for (std::int64_t& e : j)
        if (e < 0) e = *outer++;
      const std::size_t at = place(j, x.shape).value();
      if (is_real(x.dtype))
        reals.push_back(x.reals[at]);
      else
        integers.push_back(x.integers[at]);
    });
    if (k.op == ReduceOp::argmax || k.op == ReduceOp::argmin)
      y.integers.push_back(is_real(x.dtype) ? first_best(k.op, reals) : first_best(k.op, integers));
    else if (is_real(u.dtype()))
      y.reals.push_back(fold(k.op, reals));
    else
      y.integers.push_back(fold(k.op, integers, u.dtype()));
  }
  static Quad number(const Dual& d) { return d.value; }
  static std::int64_t number(std::int64_t n) { return n; }
  template <typename T>
  static std::int64_t first_best(ReduceOp op, const std::vector<T>& x) {
    std::size_t best = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
      const auto a = number(x[k]), b = number(x[best]);
      if (is_nan(b)) break;
      if (is_nan(a) || (op == ReduceOp::argmax ? a > b : a < b)) best = k;
    }
    return static_cast<std::int64_t>(best);
  }
  static std::int64_t fold(ReduceOp op, const std::vector<std::int64_t>& x, DType dtype) {
    const std::map<ReduceOp, MapOp> steps = {
        {ReduceOp::sum, MapOp::add}, {ReduceOp::prod, MapOp::mul}, {ReduceOp::max, MapOp::max},
        {ReduceOp::min, MapOp::min}, {ReduceOp::any, MapOp::max},  {ReduceOp::all, MapOp::min}};
    Number y = neutral(op, dtype);
    for (const std::int64_t e : x) y = apply(steps.at(op), std::vector<Number>{y, e}, dtype, dtype);
    return y.integer();
  }
  static Dual fold(ReduceOp op, const std::vector<Dual>& x) {
    if (op == ReduceOp::max || op == ReduceOp::min) return extreme(op == ReduceOp::max, x);
    if (op != ReduceOp::sum && op != ReduceOp::prod)
      throw std::logic_error("dual numbers: an unknown reduction");
    Dual y{op == ReduceOp::sum ? Quad(0) : Quad(1), 0};
    for (const Dual& e : x)
      y = apply_dual(op == ReduceOp::sum ? MapOp::add : MapOp::mul, std::vector<Dual>{y, e});
    return y;
  }
  static Dual extreme(bool greatest, const std::vector<Dual>& x) {
    const Quad infinity = Quad(std::numeric_limits<double>::infinity());
    Quad best = greatest ? -infinity : infinity;
    for (const Dual& e : x) {
      if (is_nan(best)) break;
      if (is_nan(e.value) || (greatest ? e.value > best : e.value < best)) best = e.value;
    }
    Dual y{best, 0};
    int hits = 0;
    for (const Dual& e : x)
      if (e.value == best) {
        y.tangent += e.tangent;
        ++hits;
      }
    if (hits > 0) y.tangent /= hits;
    return y;
  }

  // ---- writes: all that go to one element, base first, in their order

  void write(ScatterOp op, const Uop& base, const Uop& x, DualArray& y,
             const std::function<Index(const Index&)>& to) const {
    const bool real = is_real(y.dtype);
    const std::size_t count = real ? value(base).reals.size() : value(base).integers.size();
    std::vector<std::vector<Dual>> reals(real ? count : 0);
    if (real)
      for (std::size_t k = 0; k < count; ++k) reals[k].push_back(value(base).reals[k]);
    else
      y.integers = value(base).integers;
    each(value(x).shape, [&](const Index& i) {
      const auto k = place(to(i), y.shape);
      if (!k) return;
      if (real)
        reals[*k].push_back(value(x).reals[at(x, i)]);
      else
        y.integers[*k] = apply(op, y.integers[*k], value(x).integers[at(x, i)], y.dtype).integer();
    });
    for (const std::vector<Dual>& all : reals) y.reals.push_back(joined(op, all));
  }
  static Dual joined(ScatterOp op, const std::vector<Dual>& all) {
    switch (op) {
      case ScatterOp::add:
        return fold(ReduceOp::sum, all);
      case ScatterOp::mul:
        return fold(ReduceOp::prod, all);
      case ScatterOp::max:
        return extreme(true, all);
      case ScatterOp::min:
        return extreme(false, all);
      case ScatterOp::set:
        return all.back();
    }
    throw std::logic_error("dual numbers: an unknown scatter");
  }

  const Program& p_;
  const std::vector<DualArray>& inputs_;
  Binding binding_;
  std::vector<Symbol> loops_;
  std::uint64_t decisions_ = 0xcbf29ce484222325U;
  mutable bool has_no_slope_ = false;
  std::unordered_map<const UopNode*, DualArray> done_;
};

}  // namespace

DualArray as_dual(const Array& a) {
  DualArray d{a.dtype, a.shape, {}, {}};
  for (const Number& n : a.values)
    if (is_real(a.dtype))
      d.reals.push_back({n.real(), 0});
    else
      d.integers.push_back(n.integer());
  return d;
}

std::vector<DualArray> evaluate_dual(const Program& p, const std::vector<DualArray>& inputs,
                                     const std::map<std::string, Number>& params,
                                     DualTrace* trace) {
  DualEvaluator evaluator(p, inputs, params);
  std::vector<DualArray> outputs = evaluator.run();
  if (trace) *trace = evaluator.trace();
  return outputs;
}

}  // namespace mote::test
