// SPDX-License-Identifier: Apache-2.0
#include "perturbed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <unordered_set>
#include <utility>

#include "mote/uops/map_ops.h"
#include "walk.h"

namespace mote::test {
namespace {

using Engine = std::mt19937_64;

bool is_function(MapOp op) { return info(op).ulp > 0; }
/// True if the op gives a value of its operands' format without rounding.
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

/// The rules of one implementation (walk.h).
class Implementation {
 public:
  Implementation(const std::vector<Array>& inputs, const Binding& binding, const Style& style,
                 std::uint64_t seed, const Contract& contract,
                 std::unordered_set<const UopNode*> fused)
      : inputs_(inputs),
        binding_(binding),
        style_(style),
        contract_(contract),
        fused_(std::move(fused)),
        engine_(seed) {}

  Number input(std::size_t position, std::size_t element) const {
    return inputs_[position].values[element];
  }
  Number constant(const Number& v, DType dtype) const {
    return v.is_real() && style_.rounds_params ? Number(narrow(v.real(), dtype)) : v;
  }
  Number parameter(const std::string& name, DType dtype) const {
    const Number v = binding_.params.at(name);
    if (!is_real(dtype)) return store_as(v, DType::i64);
    const double x = store_as(v, DType::f64).real();
    return style_.rounds_params ? narrow(x, dtype) : x;
  }
  Number position(std::int64_t v, DType dtype) {
    return is_real(dtype) ? Number(rounded(static_cast<double>(v), dtype)) : Number(v);
  }
  static std::int64_t index(const Number& n) { return n.integer(); }

  Number element(const Uop& u, const uop::Map& k, const std::vector<Number>& args) {
    const Number exact = apply(k.op, args, k.args.back().dtype(), u.dtype());
    if (!is_real(u.dtype())) return exact;
    const bool from_integer = k.op == MapOp::cast && !args[0].is_real();
    if (k.op == MapOp::cast && !from_integer) return exact;
    if (is_exact(k.op) && !from_integer) return exact;
    // An integer that no double represents is rounded only once.
    if (from_integer && format(u.dtype()) == DType::f32 && percent(50))
      return static_cast<double>(static_cast<float>(args[0].integer()));
    if (k.op == MapOp::mul && style_.fuses && fused_.contains(u.id()))
      return of_fused(exact.real(), args, u.dtype());
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
  Number reduced(const Uop& u, const uop::Reduce& k, const std::vector<Number>& terms) {
    const bool rounds = k.op == ReduceOp::sum || k.op == ReduceOp::prod;
    if (rounds && is_real(u.dtype())) {
      std::vector<double> x;
      for (const Number& n : terms) x.push_back(n.real());
      return kept(fold(k.op, std::move(x), u.dtype()), u.dtype());
    }
    if (k.op == ReduceOp::sum && fits_float(terms)) {
      std::vector<double> x;
      for (const Number& n : terms) x.push_back(static_cast<double>(n.integer()));
      return Number(static_cast<std::int64_t>(fold(k.op, std::move(x), DType::f32)));
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
    const MapOp step = step_of(k.op);
    Number y = neutral(k.op, k.x.dtype());
    for (const Number& n : terms) y = apply(step, std::vector{y, n}, k.x.dtype(), u.dtype());
    return y;
  }

  /// Combines the writes to an element: sums and products in any order.
  Number arrived(const Uop& u, ScatterOp op, const std::vector<Number>& list) {
    if (is_real(u.dtype()) && (op == ScatterOp::add || op == ScatterOp::mul)) {
      std::vector<double> x;
      for (const Number& n : list) x.push_back(n.real());
      const ReduceOp by = op == ScatterOp::add ? ReduceOp::sum : ReduceOp::prod;
      return kept(fold(by, x, u.dtype()), u.dtype());
    }
    Number y = list.front();
    for (std::size_t n = 1; n < list.size(); ++n) y = apply(op, y, list[n], u.dtype());
    return y;
  }

 private:
  /// True if float sums these integers without rounding, in any order.
  static bool fits_float(const std::vector<Number>& terms) {
    constexpr double kGreatest = 0x1p24;
    double size = 0;
    for (const Number& n : terms) size += std::fabs(static_cast<double>(n.integer()));
    return size <= kGreatest;
  }
  bool percent(int p) { return p > 0 && static_cast<int>(engine_() % 100) < p; }
  double symmetric() { return static_cast<double>(engine_() >> 11) * 0x1p-52 - 1; }

  DType format(DType dtype) const {
    const bool half = dtype == DType::f16 || dtype == DType::bf16;
    return half && contract_.accumulator != Accumulation::native ? DType::f32 : dtype;
  }
  /// Returns the dtype in which sums and products over an axis are accumulated.
  DType accumulator(DType dtype) const {
    if (contract_.accumulator == Accumulation::f64) return DType::f64;
    return contract_.accumulator == Accumulation::f32 ? DType::f32 : format(dtype);
  }
  double narrow(double x, DType dtype) const { return store_as(x, format(dtype)).real(); }
  double rounded(double x, DType dtype) {
    if (!percent(style_.wide_percent)) x = narrow(x, dtype);
    return x == 0 && percent(20) ? -x : x;
  }

  /// Rounds a product that a fused multiply-add takes unrounded. One that overflows is finite
  /// there; the greatest double, which is nearest to it, stands for it.
  double of_fused(double product, const std::vector<Number>& factors, DType dtype) {
    const bool finite = std::isfinite(factors[0].real()) && std::isfinite(factors[1].real());
    if (!std::isinf(product) || !finite) return rounded(product, dtype);
    return std::copysign(std::numeric_limits<double>::max(), product);
  }
  /// Perturbs the exact result by up to `ulps`, rounding included.
  double function(double exact, double ulps, DType dtype) {
    const RealFormat f = real_format(format(dtype));
    if (exact == 0 || !std::isfinite(exact)) return exact;
    const double ulp =
        std::ldexp(1.0, std::max(std::ilogb(exact) - f.precision + 1, f.least_exponent));
    // A double cannot represent an error below one of its own units.
    const double share = dtype == DType::f64 ? ulps - 1 : ulps - 0.5;
    const double off = exact + symmetric() * style_.error * share * ulp;
    // No function crosses its own zero.
    return narrow((off < 0) != (exact < 0) ? 0 : off, dtype);
  }

  /// Rounds the result of a wider accumulator, which may be stored in a variable of the tensors'
  /// own format.
  double kept(double x, DType dtype) {
    const bool is_wider =
        real_format(accumulator(dtype)).precision > real_format(format(dtype)).precision;
    return is_wider && !percent(style_.wide_percent) ? narrow(x, dtype) : x;
  }
  double join(ReduceOp op, double a, double b, DType dtype) {
    return store_as(op == ReduceOp::sum ? a + b : a * b, accumulator(dtype)).real();
  }
  double fold(ReduceOp op, std::vector<double> x, DType dtype) {
    const double neutral = op == ReduceOp::sum ? 0 : 1;
    if (x.empty()) return neutral;
    if (style_.order == Order::wide) {
      double y = neutral;
      for (const double v : x) y = op == ReduceOp::sum ? y + v : y * v;
      return store_as(y, accumulator(dtype)).real();
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

  const std::vector<Array>& inputs_;
  const Binding& binding_;
  const Style& style_;
  const Contract& contract_;
  const std::unordered_set<const UopNode*> fused_;
  Engine engine_;
};

/// Returns the nodes that additions in f64 read.
std::unordered_set<const UopNode*> read_by_additions(const Program& p) {
  const std::vector<Uop> roots = mote::roots(p);
  std::unordered_set<const UopNode*> read;
  for (const Uop& u : topological(roots)) {
    const auto* m = std::get_if<uop::Map>(&u.node().kind);
    const auto* r = std::get_if<uop::Reduce>(&u.node().kind);
    const bool adds =
        (m && (m->op == MapOp::add || m->op == MapOp::sub)) || (r && r->op == ReduceOp::sum);
    if (!adds || u.dtype() != DType::f64) continue;
    for (const Uop& x : operands(u)) read.insert(x.id());
  }
  return read;
}

}  // namespace

Style random_style(std::uint64_t seed) {
  Engine engine(seed * 0x9E3779B97F4A7C15ULL + 1);
  Style s;
  s.order = static_cast<Order>(engine() % 8);
  s.wide_percent = std::vector{0, 0, 30, 100}[engine() % 4];
  s.reciprocal_percent = std::vector{0, 50, 100}[engine() % 3];
  s.error = std::vector{0.0, 0.5, 1.0, 1.0}[engine() % 4];
  s.rounds_params = engine() % 2 == 0;
  s.fuses = engine() % 2 == 0;
  return s;
}

std::string to_string(const Style& s) {
  return fmt::format("order {}, {}% wide, {}% reciprocals, error {}, params {}, {}",
                     static_cast<int>(s.order), s.wide_percent, s.reciprocal_percent, s.error,
                     s.rounds_params ? "rounded" : "as they are", s.fuses ? "fused" : "not fused");
}

std::vector<Array> evaluate_perturbed(const Program& program, const std::vector<Array>& inputs,
                                      const std::map<std::string, Number>& params,
                                      const Style& style, std::uint64_t seed,
                                      const Contract& contract) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const Array& a : inputs) shapes.push_back(a.shape);
  const Binding binding = mote::bind(program, shapes, params);
  Implementation rules(inputs, binding, style, seed, contract, read_by_additions(program));
  std::vector<Array> results;
  std::vector<Values<Number>> values =
      Walk<Number, Implementation>(program, binding, shapes, rules).run();
  for (std::size_t k = 0; k < values.size(); ++k) {
    const DType dtype = program.outputs[k].value.dtype();
    Array y{dtype, std::move(values[k].shape), {}};
    for (const Number& n : values[k].elements) y.values.push_back(store_as(n, dtype));
    results.push_back(std::move(y));
  }
  return results;
}

}  // namespace mote::test
