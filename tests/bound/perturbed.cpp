#include "perturbed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <unordered_map>

#include "mote/base/error.h"

namespace mote::test {
namespace {

using Index = std::vector<std::int64_t>;
using Engine = std::mt19937_64;

bool is_function(MapOp op) { return (op >= MapOp::sqrt && op <= MapOp::erf) || op == MapOp::pow; }
/// Gives a value of its operands' format without rounding.
bool is_exact(MapOp op) {
  return op == MapOp::neg || op == MapOp::abs || op == MapOp::sign || op == MapOp::min ||
         op == MapOp::max || op == MapOp::where || op == MapOp::cast || op == MapOp::lowest_bit ||
         (op >= MapOp::floor && op <= MapOp::trunc);
}

double accuracy(MapOp op, const Contract& contract) {
  if (const auto at = contract.functions.find(name(op)); at != contract.functions.end())
    return at->second.ulp;
  return op == MapOp::sqrt ? 1 : op == MapOp::rsqrt ? 2 : 4;
}

class Machine {
 public:
  Machine(const Program& p, const std::vector<Array>& inputs, const Binding& binding,
          const Style& style, std::uint64_t seed, const Contract& contract)
      : program_(p),
        inputs_(inputs),
        binding_(binding),
        style_(style),
        contract_(contract),
        engine_(seed) {
    for (int k = 0; k < kMaxRank; ++k) loops_.push_back(*Expr::loop(k).as_symbol());
  }

  const Array& value(const Uop& u) const { return done_.at(u.id()); }

  void compute(const Uop& u) {
    Array y{u.dtype(), {}, {}};
    for (const Expr& e : u.shape()) y.shape.push_back(evaluate(e, binding_.values));
    std::visit([&](const auto& kind) { fill(u, kind, y); }, u.node().kind);
    done_.emplace(u.id(), std::move(y));
  }

 private:
  static std::int64_t volume(const Index& shape) {
    std::int64_t n = 1;
    for (const auto e : shape) n *= e;
    return n;
  }
  static Index index_of(std::int64_t linear, const Index& shape) {
    Index i(shape.size());
    for (std::size_t k = shape.size(); k-- > 0;) {
      i[k] = linear % shape[k];
      linear /= shape[k];
    }
    return i;
  }
  static std::size_t row_major(const Index& i, const Index& shape) {
    std::int64_t at = 0;
    for (std::size_t k = 0; k < i.size(); ++k) at = at * shape[k] + i[k];
    return static_cast<std::size_t>(at);
  }
  static bool inside(const Index& i, const Index& shape) {
    for (std::size_t k = 0; k < i.size(); ++k)
      if (i[k] < 0 || i[k] >= shape[k]) return false;
    return true;
  }
  std::int64_t index_value(const Expr& e, const Index& i) const {
    const auto symbol = [&](Symbol s) -> std::int64_t {
      for (std::size_t k = 0; k < i.size(); ++k)
        if (loops_[k] == s) return i[k];
      return binding_.values.at(s);
    };
    return evaluate(e, Environment{symbol, nullptr});
  }
  Index mapped(const std::vector<Expr>& from, const Index& i) const {
    Index j;
    for (const Expr& e : from) j.push_back(index_value(e, i));
    return j;
  }
  Number at(const Uop& x, const Index& i) const {
    const Array& a = value(x);
    return a.values[a.shape.empty() ? 0 : row_major(i, a.shape)];
  }

  bool percent(int p) { return p > 0 && static_cast<int>(engine_() % 100) < p; }
  double symmetric() { return static_cast<double>(engine_() >> 11) * 0x1p-52 - 1; }

  DType format(DType dtype) const {
    const bool half = dtype == DType::f16 || dtype == DType::bf16;
    return half && !contract_.narrow_accumulator ? DType::f32 : dtype;
  }
  double narrow(double x, DType dtype) const { return store_as(x, format(dtype)).real(); }
  double rounded(double x, DType dtype) {
    if (!percent(style_.wide_percent)) x = narrow(x, dtype);
    return x == 0 && percent(20) ? -x : x;
  }

  // ---- nodes

  void fill(const Uop&, const uop::Input& k, Array& y) {
    const auto at = static_cast<std::size_t>(*find_input(program_, k.name));
    const Array& a = inputs_[at];
    for (std::int64_t n = 0; n < volume(y.shape); ++n) {
      Index i = index_of(n, y.shape);
      for (std::size_t d = 0; d < i.size(); ++d)
        if (a.shape[d] == 1) i[d] = 0;
      y.values.push_back(a.values[row_major(i, a.shape)]);
    }
  }
  void fill(const Uop& u, const uop::Scalar& k, Array& y) {
    y.values.push_back(k.value.is_real() && style_.rounds_params
                           ? Number(narrow(k.value.real(), u.dtype()))
                           : k.value);
  }
  void fill(const Uop& u, const uop::Param& k, Array& y) {
    const Number v = binding_.params.at(k.name);
    if (!is_real(u.dtype())) return y.values.push_back(store_as(v, DType::i64));
    const double x = store_as(v, DType::f64).real();
    y.values.push_back(style_.rounds_params ? narrow(x, u.dtype()) : x);
  }
  void fill(const Uop& u, const uop::Iota& k, Array& y) {
    for (std::int64_t n = 0; n < volume(y.shape); ++n) {
      const std::int64_t v = index_value(k.value, index_of(n, y.shape));
      y.values.push_back(is_real(u.dtype()) ? Number(rounded(static_cast<double>(v), u.dtype()))
                                            : Number(v));
    }
  }
  void fill(const Uop& u, const uop::Reindex& k, Array& y) {
    const Array& x = value(k.x);
    for (std::int64_t n = 0; n < volume(y.shape); ++n) {
      const Index j = mapped(k.from, index_of(n, y.shape));
      const Number fill = is_real(u.dtype()) && style_.rounds_params
                              ? Number(narrow(k.fill.real(), u.dtype()))
                              : k.fill;
      y.values.push_back(inside(j, x.shape) ? x.values[row_major(j, x.shape)] : fill);
    }
  }
  void fill(const Uop&, const uop::StopGradient& k, Array& y) { y.values = value(k.x).values; }

  void fill(const Uop& u, const uop::Map& k, Array& y) {
    for (std::int64_t n = 0; n < volume(y.shape); ++n) {
      const Index i = index_of(n, y.shape);
      std::vector<Number> args;
      for (const Uop& a : k.args) args.push_back(at(a, i));
      y.values.push_back(element(u, k, args));
    }
  }
  Number element(const Uop& u, const uop::Map& k, const std::vector<Number>& args) {
    const Number exact = apply(k.op, args, k.args.back().dtype(), u.dtype());
    if (!is_real(u.dtype())) return exact;
    const bool from_integer = k.op == MapOp::cast && !args[0].is_real();
    if (k.op == MapOp::cast && !from_integer) return exact;
    if (is_exact(k.op) && !from_integer) return exact;
    if (is_function(k.op)) return function(exact.real(), accuracy(k.op, contract_), u.dtype());
    if (k.op == MapOp::div && percent(style_.reciprocal_percent)) {
      const double inverse = narrow(1 / args[1].real(), u.dtype());
      const RealFormat f = real_format(format(u.dtype()));
      if (std::isfinite(inverse) &&
          std::fabs(inverse) >= std::ldexp(1.0, f.least_exponent + f.precision - 1))
        return rounded(args[0].real() * inverse, u.dtype());
    }
    return rounded(exact.real(), u.dtype());
  }
  /// Off by so many ulps, the rounding included.
  double function(double exact, double ulps, DType dtype) {
    const RealFormat f = real_format(format(dtype));
    if (exact == 0 || !std::isfinite(exact)) return exact;
    const double ulp =
        std::ldexp(1.0, std::max(std::ilogb(exact) - f.precision + 1, f.least_exponent));
    // A double holds no error below one of its own units.
    const double share = dtype == DType::f64 ? ulps - 1 : ulps - 0.5;
    const double off = exact + symmetric() * style_.error * share * ulp;
    // No function steps over its own zero.
    return narrow((off < 0) != (exact < 0) ? 0 : off, dtype);
  }

  double join(ReduceOp op, double a, double b, DType dtype) {
    return narrow(op == ReduceOp::sum ? a + b : a * b, dtype);
  }
  double fold(ReduceOp op, std::vector<double> x, DType dtype) {
    const double neutral = op == ReduceOp::sum ? 0 : 1;
    if (x.empty()) return neutral;
    if (style_.order == Order::wide) {
      double y = neutral;
      for (const double v : x) y = op == ReduceOp::sum ? y + v : y * v;
      return narrow(y, dtype);
    }
    if (style_.order == Order::shuffled || style_.order == Order::tree)
      std::shuffle(x.begin(), x.end(), engine_);
    if (style_.order == Order::backward) std::reverse(x.begin(), x.end());
    switch (style_.order) {
      case Order::pairwise:
        return halves(op, x, 0, x.size(), dtype);
      case Order::tree:
        while (x.size() > 1) {
          const std::size_t k = engine_() % (x.size() - 1);
          x[k] = join(op, x[k], x[k + 1], dtype);
          x.erase(x.begin() + static_cast<std::ptrdiff_t>(k) + 1);
        }
        return x[0];
      case Order::lanes:
        return lanes(op, x, 8, dtype);
      case Order::blocks:
        return blocks(op, x, 5, dtype);
      default:
        return chain(op, x, dtype);
    }
  }
  double chain(ReduceOp op, const std::vector<double>& x, DType dtype) {
    double y = op == ReduceOp::sum ? 0 : 1;
    for (const double v : x) y = join(op, y, v, dtype);
    return y;
  }
  double halves(ReduceOp op, const std::vector<double>& x, std::size_t a, std::size_t b,
                DType dtype) {
    if (b - a == 1) return x[a];
    const std::size_t m = (a + b) / 2;
    return join(op, halves(op, x, a, m, dtype), halves(op, x, m, b, dtype), dtype);
  }
  double lanes(ReduceOp op, const std::vector<double>& x, std::size_t n, DType dtype) {
    std::vector<double> lane(n, op == ReduceOp::sum ? 0 : 1);
    for (std::size_t k = 0; k < x.size(); ++k) lane[k % n] = join(op, lane[k % n], x[k], dtype);
    return chain(op, lane, dtype);
  }
  double blocks(ReduceOp op, const std::vector<double>& x, std::size_t n, DType dtype) {
    std::vector<double> sums;
    for (std::size_t k = 0; k < x.size(); k += n)
      sums.push_back(chain(
          op,
          {x.begin() + std::ptrdiff_t(k), x.begin() + std::ptrdiff_t(std::min(k + n, x.size()))},
          dtype));
    return chain(op, sums, dtype);
  }

  void fill(const Uop& u, const uop::Reduce& k, Array& y) {
    const Array& x = value(k.x);
    std::vector<std::vector<Number>> terms(static_cast<std::size_t>(volume(y.shape)));
    for (std::int64_t n = 0; n < volume(x.shape); ++n) {
      const Index i = index_of(n, x.shape);
      Index j;
      for (std::size_t d = 0; d < i.size(); ++d)
        if (std::ranges::find(k.axes, static_cast<int>(d)) == k.axes.end()) j.push_back(i[d]);
      terms[row_major(j, y.shape)].push_back(x.values[static_cast<std::size_t>(n)]);
    }
    for (const auto& t : terms) y.values.push_back(reduced(u, k, t));
  }
  Number reduced(const Uop& u, const uop::Reduce& k, const std::vector<Number>& terms) {
    const bool rounds = k.op == ReduceOp::sum || k.op == ReduceOp::prod;
    if (rounds && is_real(u.dtype())) {
      std::vector<double> x;
      for (const Number& n : terms) x.push_back(n.real());
      return fold(k.op, std::move(x), u.dtype());
    }
    if (k.op == ReduceOp::argmax || k.op == ReduceOp::argmin) {
      std::size_t best = 0;
      const auto value = [](const Number& n) {
        return n.is_real() ? n.real() : static_cast<double>(n.integer());
      };
      for (std::size_t n = 1; n < terms.size() && !std::isnan(value(terms[best])); ++n) {
        const double a = value(terms[best]), b = value(terms[n]);
        if (std::isnan(b) || (k.op == ReduceOp::argmax ? b > a : b < a)) best = n;
      }
      return Number(static_cast<std::int64_t>(best));
    }
    const MapOp step = k.op == ReduceOp::sum    ? MapOp::add
                       : k.op == ReduceOp::prod ? MapOp::mul
                       : k.op == ReduceOp::max  ? MapOp::max
                       : k.op == ReduceOp::min  ? MapOp::min
                       : k.op == ReduceOp::any  ? MapOp::logical_or
                                                : MapOp::logical_and;
    Number y = neutral(k.op, k.x.dtype());
    for (const Number& n : terms) y = apply(step, std::vector{y, n}, k.x.dtype(), u.dtype());
    return y;
  }

  void fill(const Uop&, const uop::Select& k, Array& y) {
    const Array& x = value(k.x);
    for (std::int64_t n = 0; n < volume(y.shape); ++n) {
      Index i = index_of(n, y.shape);
      i[static_cast<std::size_t>(k.axis)] = at(k.index, i).integer();
      y.values.push_back(inside(i, x.shape) ? x.values[row_major(i, x.shape)] : k.fill);
    }
  }

  /// Whatever arrives at an element joins what was there, sums and products in any order.
  void arrive(const Uop& u, ScatterOp op, const Uop& base, const Uop& from, Array& y,
              const auto& target) {
    y.values = value(base).values;
    const Array& x = value(from);
    const bool rounds = is_real(u.dtype()) && (op == ScatterOp::add || op == ScatterOp::mul);
    std::map<std::size_t, std::vector<double>> terms;
    for (std::int64_t n = 0; n < volume(x.shape); ++n) {
      const Index j = target(index_of(n, x.shape));
      if (!inside(j, y.shape)) continue;
      const std::size_t to = row_major(j, y.shape);
      const Number v = x.values[static_cast<std::size_t>(n)];
      if (rounds)
        terms[to].push_back(v.real());
      else
        y.values[to] = apply(op, y.values[to], v, u.dtype());
    }
    for (auto& [to, list] : terms) {
      list.insert(list.begin(), y.values[to].real());
      y.values[to] = fold(op == ScatterOp::add ? ReduceOp::sum : ReduceOp::prod, list, u.dtype());
    }
  }
  void fill(const Uop& u, const uop::Scatter& k, Array& y) {
    arrive(u, k.op, k.base, k.x, y, [&](const Index& i) { return mapped(k.to, i); });
  }
  void fill(const Uop& u, const uop::SelectScatter& k, Array& y) {
    arrive(u, k.op, k.base, k.x, y, [&](Index i) {
      i[static_cast<std::size_t>(k.axis)] = at(k.index, i).integer();
      return i;
    });
  }

  const Program& program_;
  const std::vector<Array>& inputs_;
  const Binding& binding_;
  const Style& style_;
  const Contract& contract_;
  Engine engine_;
  std::vector<Symbol> loops_;
  std::unordered_map<const UopNode*, Array> done_;
};

}  // namespace

Style random_style(std::uint64_t seed) {
  Engine engine(seed * 0x9E3779B97F4A7C15ULL + 1);
  Style s;
  s.order = static_cast<Order>(engine() % 8);
  s.wide_percent = std::vector{0, 0, 30, 100}[engine() % 4];
  s.reciprocal_percent = std::vector{0, 50, 100}[engine() % 3];
  s.error = std::vector{0.0, 0.5, 1.0, 1.0}[engine() % 4];
  s.rounds_params = engine() % 2 == 0;
  return s;
}

std::string to_string(const Style& s) {
  return fmt::format("order {}, {}% wide, {}% reciprocals, error {}, params {}",
                     static_cast<int>(s.order), s.wide_percent, s.reciprocal_percent, s.error,
                     s.rounds_params ? "rounded" : "as they are");
}

std::vector<Array> evaluate_perturbed(const Program& program, const std::vector<Array>& inputs,
                                      const std::map<std::string, Number>& params,
                                      const Style& style, std::uint64_t seed,
                                      const Contract& contract) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const Array& a : inputs) shapes.push_back(a.shape);
  const Binding binding = mote::bind(program, shapes, params);
  Machine machine(program, inputs, binding, style, seed, contract);
  std::vector<Uop> wanted;
  for (const Output& o : program.outputs) wanted.push_back(o.value);
  for (const Uop& u : topological(wanted)) machine.compute(u);
  std::vector<Array> results;
  for (const Uop& u : wanted) {
    results.push_back(machine.value(u));
    for (Number& n : results.back().values) n = store_as(n, u.dtype());
  }
  return results;
}

}  // namespace mote::test
