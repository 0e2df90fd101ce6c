// SPDX-License-Identifier: Apache-2.0
// Decides whether a body has only one formula, so that its inputs are taken as they are; and
// whether it is certain altogether.
#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "bound/value.h"
#include "graph/node.h"
#include "mote/uops/map_ops.h"

namespace mote {
namespace {

bool is_smooth(MapOp op) {
  return bounds::has_accuracy(op) || op == MapOp::recip || op == MapOp::div;
}
bool rounds(MapOp op) {
  return op == MapOp::add || op == MapOp::sub || op == MapOp::mul || op == MapOp::mod;
}

class Rigidity {
 public:
  explicit Rigidity(const Uop& output) {
    for (const Uop& u : topological(std::vector<Uop>{output})) visit(u);
  }
  /// Whole numbers are summed in one way, however they came about: up to 2^p nothing rounds.
  bool rigid() const { return (smooth_ == 0 || arithmetic_ <= 1) && sums_ <= 1 && !other_order_; }
  bool certain() const { return arithmetic_ == 0 && of_wholes_ == 0 && casts_ == 0; }

 private:
  /// Returns false for a number that is rounded before it is used.
  static bool is_exact(const Uop& u) {
    if (!is_real(u.dtype()) || u.dtype() == DType::f64) return true;
    const auto* s = std::get_if<uop::Scalar>(&u.node().kind);
    if (s) return same(store_as(s->value, u.dtype()), s->value);
    return !std::holds_alternative<uop::Param>(u.node().kind);
  }

  /// Returns true for a real that is a whole number, or not finite.
  bool is_whole(const Uop& u) const {
    const uop::Kind& kind = u.node().kind;
    if (const auto* s = std::get_if<uop::Scalar>(&kind))
      return s->value.is_real() && std::floor(s->value.real()) == s->value.real();
    if (const auto* i = std::get_if<uop::Reindex>(&kind))
      return wholes_.contains(i->x.id()) && std::floor(i->fill.real()) == i->fill.real();
    const auto* m = std::get_if<uop::Map>(&kind);
    if (m == nullptr) return false;
    if (info(m->op).keeps_integers) return true;
    if (m->op == MapOp::cast && !is_real(m->args[0].dtype())) return true;
    const bool keeps = m->op == MapOp::add || m->op == MapOp::sub || m->op == MapOp::neg ||
                       m->op == MapOp::min || m->op == MapOp::max;
    return keeps &&
           std::ranges::all_of(m->args, [&](const Uop& x) { return wholes_.contains(x.id()); });
  }

  void visit(const Uop& u) {
    if (is_real(u.dtype()) && is_whole(u)) wholes_.insert(u.id());
    bool data = std::holds_alternative<uop::Input>(u.node().kind) && is_real(u.dtype());
    int depth = 0;
    for (const Uop& x : operands(u)) {
      data = data || data_.contains(x.id());
      depth = std::max(depth, depth_[x.id()]);
    }
    if (data) data_.insert(u.id());
    if (!is_exact(u)) ++casts_;
    if (is_real(u.dtype())) look_for_orders(u);
    if (const auto* m = std::get_if<uop::Map>(&u.node().kind)) count(u, *m, data);
    const auto* r = std::get_if<uop::Reduce>(&u.node().kind);
    const bool real = is_real(u.dtype());
    if (r && real && (r->op == ReduceOp::sum || r->op == ReduceOp::prod)) {
      ++arithmetic_;
      ++depth;
    }
    const auto* s = std::get_if<uop::Scatter>(&u.node().kind);
    const auto* along = std::get_if<uop::SelectScatter>(&u.node().kind);
    if (real && (s || along)) {
      const ScatterOp op = s ? s->op : along->op;
      if (op == ScatterOp::add || op == ScatterOp::mul) ++arithmetic_, ++depth;
    }
    depth_[u.id()] = depth;
    sums_ = std::max(sums_, depth);
  }

  // ---- products and sums that can be computed in another order: (x*y)*z, (x + y)*z, x*x - 1

  /// Returns true for a factor that rounds nothing and commutes with operations that round.
  static bool is_power_of_two(const Uop& u) {
    const auto* s = std::get_if<uop::Scalar>(&u.node().kind);
    int exponent = 0;
    return s && s->value.is_real() &&
           std::fabs(std::frexp(s->value.real(), &exponent)) == 0.5;  // NOLINT
  }
  static bool is_square(const Uop& u) {
    const auto* m = std::get_if<uop::Map>(&u.node().kind);
    return m && m->op == MapOp::mul && m->args[0].id() == m->args[1].id();
  }
  static bool is_literal(const Uop& u) {
    return std::holds_alternative<uop::Scalar>(u.node().kind);
  }

  void inherit(const Uop& u, const Uop& from) {
    if (products_.contains(from.id())) products_.insert(u.id());
    if (totals_.contains(from.id())) totals_.insert(u.id());
  }

  void multiply(const Uop& u, const Uop& a, const Uop& b) {
    if (is_power_of_two(a)) return inherit(u, b);
    if (is_power_of_two(b)) return inherit(u, a);
    products_.insert(u.id());
    const bool chain = products_.contains(a.id()) || products_.contains(b.id());
    const bool distributes =
        a.id() != b.id() && (can_be_distributed(a, b) || can_be_distributed(b, a));
    if (data_.contains(u.id()) && (chain || distributes)) other_order_ = true;
  }

  /// Returns true if the factor may be multiplied into the terms. Unread sums times a factor
  /// without data have rules of their own.
  bool can_be_distributed(const Uop& sum, const Uop& factor) const {
    if (!totals_.contains(sum.id())) return false;
    return data_.contains(factor.id()) || !std::holds_alternative<uop::Reduce>(sum.node().kind);
  }

  void look_for_orders(const Uop& u) {
    const uop::Kind& kind = u.node().kind;
    const auto* m = std::get_if<uop::Map>(&kind);
    if (m && m->op == MapOp::mul) return multiply(u, m->args[0], m->args[1]);
    if (m && m->op == MapOp::div) {
      if (is_power_of_two(m->args[1])) return inherit(u, m->args[0]);
      products_.insert(u.id());
    } else if (m && (m->op == MapOp::add || m->op == MapOp::sub) && !wholes_.contains(u.id())) {
      const Uop &a = m->args[0], &b = m->args[1];
      if (data_.contains(u.id())) totals_.insert(u.id());
      const bool factors = (is_square(a) || is_literal(a)) && (is_square(b) || is_literal(b));
      if (factors && m->op == MapOp::sub && data_.contains(u.id())) other_order_ = true;
    } else if (m && (rounds(m->op) || is_smooth(m->op))) {
      return;  // neither a product nor a sum
    } else if (const auto* r = std::get_if<uop::Reduce>(&kind); r && r->op == ReduceOp::sum) {
      totals_.insert(u.id());
    } else if (r && r->op == ReduceOp::prod) {
      products_.insert(u.id());
    } else {
      for (const Uop& x : operands(u)) inherit(u, x);
    }
  }

  void count(const Uop& u, const uop::Map& m, bool data) {
    const Uop& last = m.args.back();
    if (m.op == MapOp::cast && is_real(u.dtype()) && !is_real(last.dtype()) &&
        u.dtype() != DType::f64)
      ++casts_;
    if (!is_real(u.dtype())) return;
    if (is_smooth(m.op)) {
      ++arithmetic_;
      const bool scales = m.op == MapOp::div && !data_.contains(last.id());
      if (data && !scales) ++smooth_;
    } else if ((m.op == MapOp::add || m.op == MapOp::sub) && wholes_.contains(u.id())) {
      ++of_wholes_;
    } else if (rounds(m.op) || m.op == MapOp::next_up || m.op == MapOp::next_down) {
      ++arithmetic_;
    }
  }

  std::unordered_set<const UopNode*> data_;  ///< nodes that depend on a real input
  std::unordered_set<const UopNode*> wholes_;
  std::unordered_map<const UopNode*, int> depth_;
  std::unordered_set<const UopNode*> products_, totals_;  ///< also rounded, moved or chosen ones
  bool other_order_ = false;
  int smooth_ = 0, arithmetic_ = 0, of_wholes_ = 0, sums_ = 0, casts_ = 0;
};

}  // namespace

bool is_rigid(const Program& program, std::size_t output) {
  return Rigidity(program.outputs.at(output).value).rigid();
}

bool is_certain(const Program& program, std::size_t output) {
  return Rigidity(program.outputs.at(output).value).certain();
}

}  // namespace mote
