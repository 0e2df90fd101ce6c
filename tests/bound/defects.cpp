// SPDX-License-Identifier: Apache-2.0
#include "defects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace mote::test {
namespace {

using Change = std::function<Uop(const Uop&)>;  ///< changes a node with its original operands

Uop in_format(const Uop& x, DType narrow) { return cast(cast(x, narrow), x.dtype()); }
Uop off_by(const Uop& x, double relative) { return x * (1 + relative); }
/// Scales y up or down, alternating with the argument, so that the same error in a divisor does not
/// cancel it.
Uop off_by_turns(const Uop& y, const Uop& argument, double relative) {
  const Uop turn = mod(map(MapOp::floor, std::vector<Uop>{argument * 64}), 2);
  return where(turn < 1, y * (1 + relative), y * (1 - relative));
}

Uop applied(MapOp op, const Uop& x) { return map(op, std::vector<Uop>{x}); }
/// Truncates the integer to 16 bits.
Uop in_16_bits(const Uop& x) {
  const Uop high = map(MapOp::shift_left, {cast(x, DType::i64), 48});
  return cast(map(MapOp::shift_right, {high, 48}), x.dtype());
}
bool is_byte(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

template <typename Kind>
const Kind* as(const Uop& u) {
  return std::get_if<Kind>(&u.node().kind);
}
/// Returns the program with that node changed wherever it is read.
Program changed(const Program& p, const UopNode* at, const Change& change) {
  const std::vector<Uop> wanted = roots(p);
  std::unordered_map<const UopNode*, Uop> made;
  for (const Uop& u : topological(wanted)) {
    std::vector<Uop> args;
    for (const Uop& x : operands(u)) args.push_back(made.at(x.id()));
    const Uop same = args.empty() ? u : with_operands(u, args);
    made.emplace(u.id(), u.id() == at ? change(same) : same);
  }
  ProgramSpec spec{p.name, p.equation, p.params, p.inputs, p.outputs, p.sizes, p.constraints};
  for (Output& o : spec.outputs) o.value = made.at(o.value.id());
  return make_program(std::move(spec));
}

class Finder {
 public:
  explicit Finder(const Program& p) : program_(p) {
    const std::vector<Uop> wanted = roots(p);
    nodes_ = topological(wanted);
    for (const Uop& u : nodes_) {
      const bool is_input = as<uop::Input>(u) != nullptr;
      is_quantised_ = is_quantised_ || (is_input && is_byte(u.dtype()));
      bool data = is_input;
      for (const Uop& x : operands(u)) data = data || data_.contains(x.id());
      if (data) data_.insert(u.id());
      const auto* r = as<uop::Reduce>(u);
      if (r != nullptr && r->op == ReduceOp::sum) mark_terms(r->x);
      if (const auto* s = as<uop::StopGradient>(u)) mark_shift(s->x);
    }
  }

  std::vector<Defect> all() {
    for (const Uop& u : nodes_) {
      if (is_quantised_) quantised(u);
      if (!is_real(u.dtype())) {
        comparison(u);
        continue;
      }
      if (const auto* r = as<uop::Reduce>(u)) reduction(u, *r);
      if (const auto* m = as<uop::Map>(u)) element(u, *m);
      if (const auto* i = as<uop::Reindex>(u)) read(u, *i);
      if (as<uop::Input>(u) != nullptr) input(u);
      if (const auto* s = as<uop::StopGradient>(u)) shift(u, *s);
      constant(u);
    }
    for (const Output& o : program_.outputs)
      if (is_real(o.value.dtype()))
        add("result in bf16", o.value, [](const Uop& y) { return in_format(y, DType::bf16); });
      else if (is_quantised_)
        add("one more", o.value, [](const Uop& y) { return y + 1; });
    return defects();
  }

 private:
  struct Site {
    Uop node;
    Change change;
    Contract contract;
  };

  void add(const std::string& kind, const Uop& node, Change change, bool narrow = false) {
    Contract contract;
    if (narrow) contract.accumulator = Accumulation::native;
    sites_[kind].push_back({node, std::move(change), contract});
  }

  std::vector<Defect> defects() const {
    std::vector<Defect> all;
    for (const auto& [kind, sites] : sites_) {
      const auto make = [&](const Site& s, const std::string& name) {
        all.push_back({name, changed(program_, s.node.id(), s.change), s.contract});
      };
      make(sites.front(), kind);
      if (sites.size() > 1) make(sites.back(), kind + ", elsewhere");
    }
    return all;
  }

  void mark_terms(const Uop& x) {
    if (!terms_.insert(x.id()).second) return;
    const auto* m = as<uop::Map>(x);
    if (as<uop::Reindex>(x) != nullptr || (m != nullptr && m->op == MapOp::where))
      for (const Uop& arg : operands(x)) mark_terms(arg);
  }

  void mark_shift(const Uop& x) {
    shifts_.insert(x.id());
    if (as<uop::Reindex>(x) != nullptr) mark_shift(operands(x).front());
  }

  void reduction(const Uop& u, const uop::Reduce& r) {
    // A shift may be any value that keeps functions from overflowing.
    if (shifts_.contains(u.id())) return;
    if (r.op == ReduceOp::argmax || r.op == ReduceOp::argmin || u.dtype() != r.x.dtype()) return;
    const int axis = r.axes.back();
    const Number none = neutral(r.op, r.x.dtype());
    add("drops the last term", u, [axis, none](const Uop& y) {
      const auto& k = std::get<uop::Reduce>(y.node().kind);
      const Expr last = k.x.shape()[static_cast<std::size_t>(axis)] - 1;
      const Uop at_end = eq(iota(Expr::loop(axis), shape_of(k.x)), iota(last, shape_of(k.x)));
      return reduce(k.op, where(at_end, scalar(none, k.x.dtype()), k.x), k.axes);
    });
    if ((r.op != ReduceOp::sum && r.op != ReduceOp::prod) || !is_real(u.dtype())) return;
    for (const DType narrow : {DType::f16, DType::bf16})
      add(
          fmt::format("accumulates in {}", name(narrow)), u,
          [narrow](const Uop& y) {
            const auto& k = std::get<uop::Reduce>(y.node().kind);
            return cast(reduce(k.op, cast(k.x, narrow), k.axes), y.dtype());
          },
          true);
  }

  void element(const Uop& u, const uop::Map& m) {
    const auto function = [&](double relative, const char* size) {
      add(fmt::format("function {} off", size), u, [relative](const Uop& y) {
        return off_by_turns(y, std::get<uop::Map>(y.node().kind).args.front(), relative);
      });
    };
    if (is_transcendental(m.op)) {
      function(0x1p-11, "2^-11");
      function(0x1p-16, "2^-16");
      add("function in bf16", u, [](const Uop& y) { return in_format(y, DType::bf16); });
    }
    if (m.op == MapOp::div || m.op == MapOp::recip) quotient(u, m);
    if (m.op == MapOp::mul && terms_.contains(u.id())) product(u);
    const bool arithmetic = m.op == MapOp::mul || m.op == MapOp::add || m.op == MapOp::sub;
    if (arithmetic && data_.contains(u.id()))
      add("intermediate in bf16", u, [](const Uop& y) { return in_format(y, DType::bf16); });
    if (m.op == MapOp::max || m.op == MapOp::min)
      add(fmt::format("without {}", name(m.op)), u, [](const Uop& y) {
        const Uop x = std::get<uop::Map>(y.node().kind).args.front();
        return x.rank() == y.rank() ? x : reindex(x, shape_of(y), {});
      });
  }

  void quotient(const Uop& u, const uop::Map& m) {
    const bool by_data = data_.contains(m.args.back().id());
    if (by_data)
      return add("reciprocal 2^-11 off", u, [](const Uop& y) { return off_by(y, 0x1p-11); });
    add("divisor one less", u, [](const Uop& y) {
      const auto& k = std::get<uop::Map>(y.node().kind);
      return k.args.front() / max(k.args.back() - 1, 1);
    });
  }

  void product(const Uop& u) {
    for (const DType narrow : {DType::f16, DType::bf16})
      add(fmt::format("multiplies in {}", name(narrow)), u, [narrow](const Uop& y) {
        const auto& k = std::get<uop::Map>(y.node().kind);
        return in_format(k.args.front(), narrow) * in_format(k.args.back(), narrow);
      });
  }

  /// Adds reads of the nearest element inside for indices out of range.
  void read(const Uop& u, const uop::Reindex& r) {
    if (!data_.contains(u.id()) || r.x.rank() == 0 || u.rank() == 0) return;
    const bool padded = std::ranges::any_of(
        r.from, [](const Expr& e) { return e.terms().size() > 1 || e.symbols().size() > 1; });
    if (!padded) return;
    add("reads the edge for what is outside", u, [](const Uop& y) {
      const auto& k = std::get<uop::Reindex>(y.node().kind);
      std::vector<IndexText> from;
      for (std::size_t a = 0; a < k.from.size(); ++a)
        from.emplace_back(max(Expr(0), min(k.from[a], k.x.shape()[a] - 1)));
      return reindex(k.x, shape_of(y), from, k.fill);
    });
  }
  void input(const Uop& u) {
    if (u.rank() == 0) return;
    add("reads the neighbour at the end", u, [](const Uop& x) {
      std::vector<IndexText> from;
      for (int a = 0; a < x.rank(); ++a) from.emplace_back(Expr::loop(a));
      const Expr i = Expr::loop(x.rank() - 1), extent = x.shape().back();
      from.back() = IndexText(max(Expr(0), i - max(Expr(0), i - extent + 2)));
      return reindex(x, shape_of(x), from);
    });
  }

  /// Drops a shift that only keeps functions from overflowing (no gradient flows through it).
  void shift(const Uop& u, const uop::StopGradient&) {
    add("without the shift", u,
        [](const Uop& y) { return reindex(scalar(Number(0.0), y.dtype()), shape_of(y), {}); });
  }

  void constant(const Uop& u) {
    if (as<uop::Param>(u) != nullptr)
      add("parameter 10 times", u, [](const Uop& y) { return y * 10; });
    const auto* s = as<uop::Scalar>(u);
    if (s == nullptr) return;
    const double v = s->value.real();
    if (!std::isfinite(v) || store_as(v, DType::bf16).real() == v) return;
    add("constant of three digits", u,
        [v](const Uop& y) { return scalar(Number(std::round(v * 1e3) * 1e-3), y.dtype()); });
  }

  void comparison(const Uop& u) {
    const auto* m = as<uop::Map>(u);
    if (m == nullptr || !data_.contains(u.id()) || !is_real(m->args.front().dtype())) return;
    const std::map<MapOp, MapOp> other = {{MapOp::lt, MapOp::le},
                                          {MapOp::le, MapOp::lt},
                                          {MapOp::gt, MapOp::ge},
                                          {MapOp::ge, MapOp::gt}};
    if (const auto at = other.find(m->op); at != other.end())
      add("equal is on the other side", u, [op = at->second](const Uop& y) {
        return map(op, std::get<uop::Map>(y.node().kind).args);
      });
  }

  /// Adds the defects of programs with 8-bit tensors: those of integers, and of their conversion
  /// from reals.
  void quantised(const Uop& u) {
    const auto* m = as<uop::Map>(u);
    const auto* r = as<uop::Reduce>(u);
    if (is_integer(u.dtype())) {
      if (as<uop::Input>(u) != nullptr) input(u);
      if (r != nullptr) reduction(u, *r);
      if (r != nullptr && r->op == ReduceOp::sum) add("accumulates in 16 bits", u, in_16_bits);
      if (m != nullptr) whole_element(u, *m);
    } else if (m != nullptr && m->op == MapOp::round) {
      add("rounds half up", u,
          [](const Uop& y) { return applied(MapOp::floor, argument(y) + 0.5); });
      add("rounds half away from 0", u, [](const Uop& y) {
        const Uop x = argument(y);
        return applied(MapOp::sign, x) * applied(MapOp::floor, abs(x) + 0.5);
      });
      add("truncates", u, [](const Uop& y) { return applied(MapOp::trunc, argument(y)); });
    } else if (m != nullptr && m->op == MapOp::add) {
      add("without the zero point", u, argument);
      add("rounds after the zero point", u, [](const Uop& y) {
        const auto& args = std::get<uop::Map>(y.node().kind).args;
        return applied(MapOp::round, argument(args.front()) + args.back());
      });
    }
  }
  void whole_element(const Uop& u, const uop::Map& m) {
    if (m.op == MapOp::sub) add("without the zero point", u, argument);
    if (m.op == MapOp::mul)
      add("multiplies in 8 bits", u, [](const Uop& y) {
        const auto& args = std::get<uop::Map>(y.node().kind).args;
        return in_format(args.front(), DType::i8) * in_format(args.back(), DType::i8);
      });
    if (m.op == MapOp::cast && is_byte(u.dtype()) && is_real(m.args.front().dtype()))
      add("wraps", u, [](const Uop& y) { return cast(cast(argument(y), DType::i64), y.dtype()); });
  }
  static Uop argument(const Uop& y) { return std::get<uop::Map>(y.node().kind).args.front(); }

  const Program& program_;
  bool is_quantised_ = false;  ///< the program reads tensors of 8 bits
  std::vector<Uop> nodes_;
  std::unordered_set<const UopNode*> data_;    ///< nodes that depend on an input
  std::unordered_set<const UopNode*> terms_;   ///< nodes that sums take unchanged
  std::unordered_set<const UopNode*> shifts_;  ///< nodes that no gradient flows through
  std::map<std::string, std::vector<Site>> sites_;
};

}  // namespace

std::vector<Defect> defects(const Program& p) { return Finder(p).all(); }

}  // namespace mote::test
