// SPDX-License-Identifier: Apache-2.0
// Decides exactness by abstract interpretation: it computes one Known for each uop, operands first.
#include "mote/oracle/exactness.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "judge/known.h"
#include "mote/base/error.h"

namespace mote {
namespace {

using std::string;

/// True if the program computes in f32; f16 and bf16 are only stored, and computed in f32 at least.
bool is_f32_anywhere(const Program& program, const std::vector<Uop>& nodes) {
  const auto is_f32 = [](const Uop& u) { return is_real(u.dtype()) && u.dtype() != DType::f64; };
  return std::ranges::any_of(nodes, is_f32) || std::ranges::any_of(program.inputs, is_f32);
}

double shape_volume(const Uop& u, const Binding& binding) {
  double count = 1;
  for (const Expr& e : u.shape()) count *= static_cast<double>(evaluate(e, binding.values));
  return count;
}

class Analysis {
 public:
  Analysis(const Program& program, const Binding& binding, FillKind fill, std::int64_t radius)
      : program_(program), binding_(binding), fill_(fill), radius_(radius) {
    const std::vector<Uop> outputs = roots(program);
    nodes_ = topological(outputs);
    format_ = Format(is_f32_anywhere(program, nodes_));
  }

  Exactness run() {
    for (const Uop& u : nodes_) {
      Known k = of(u);
      if (is_real(u.dtype())) format_.check(k, describe(u));
      known_.emplace(u.id(), std::move(k));
    }
    for (const Output& o : program_.outputs) {
      const Known& k = known_.at(o.value.id());
      if (!k.exact) return {false, k.reason};
    }
    return {true, ""};
  }

 private:
  Known of(const Uop& u) const {
    return std::visit([this, &u](const auto& kind) { return this->visit(u, kind); }, u.node().kind);
  }
  const Known& known(const Uop& u) const { return known_.at(u.id()); }
  std::int64_t extent(const Uop& u, int axis) const {
    return evaluate(u.shape()[static_cast<std::size_t>(axis)], binding_.values);
  }

  Known visit(const Uop& u, const uop::Input&) const {
    if (u.dtype() == DType::boolean) return Known::grid(0, 1);
    if (is_whole(fill_))
      return Known::grid(0, static_cast<double>(std::min(radius_, greatest_radius(u.dtype()))));
    return is_real(u.dtype()) ? Known::copied()
                              : Known::grid(0, greatest_integer(fill_, u.dtype()));
  }
  Known visit(const Uop& u, const uop::Scalar& s) const { return constant(s.value, u); }
  Known visit(const Uop& u, const uop::Param& p) const {
    return constant(binding_.params.at(p.name), u);
  }
  Known constant(const Number& n, const Uop& u) const {
    return Known::point(store_as(n, DType::f64).real(), u.dtype(), format_);
  }

  Known visit(const Uop& u, const uop::Iota& i) const {
    for (const Symbol s : i.value.symbols()) {
      if (s.kind() == SymbolKind::loop) return Known::grid(0, iota_magnitude(u, i.value));
    }
    const std::int64_t value = evaluate(i.value, binding_.values);
    return Known::point(static_cast<double>(value), u.dtype(), format_);
  }
  double iota_magnitude(const Uop& u, const Expr& e) const {
    const auto symbol = [&](Symbol s) -> double {
      if (s.kind() != SymbolKind::loop) {
        return std::abs(static_cast<double>(binding_.values.at(s)));
      }
      return static_cast<double>(
          std::max<std::int64_t>(extent(u, std::stoi(s.name().substr(1))), 1));
    };
    return magnitude(e, symbol);
  }

  Known visit(const Uop& u, const uop::Reindex& r) const {
    if (r.x.rank() == 0) return known(r.x);  // a scalar is never out of range
    return join(known(r.x), constant(r.fill, u));
  }
  Known visit(const Uop& u, const uop::Select& s) const {
    if (!known(s.index).exact) return known(s.index);
    return join(known(s.x), constant(s.fill, u));
  }
  Known visit(const Uop& u, const uop::Scatter& s) const {
    return scatter_known(s.op, known(s.base), known(s.x), shape_volume(s.x, binding_), u.dtype(),
                         describe(u));
  }
  Known visit(const Uop& u, const uop::SelectScatter& s) const {
    if (!known(s.index).exact) return known(s.index);
    return scatter_known(s.op, known(s.base), known(s.x), shape_volume(s.x, binding_), u.dtype(),
                         describe(u));
  }
  Known visit(const Uop&, const uop::StopGradient& s) const { return known(s.x); }
  Known visit(const Uop& u, const uop::Map& m) const {
    std::vector<Known> args;
    for (const Uop& a : m.args) args.push_back(known(a));
    const DType from = m.args.front().dtype();
    return map_known(m.op, args, from, u.dtype(), format_, describe(u));
  }
  Known visit(const Uop& u, const uop::Reduce& r) const {
    double count = 1;
    for (const int axis : r.axes) count *= static_cast<double>(extent(r.x, axis));
    return reduce_known(r.op, known(r.x), count, u.dtype(), describe(u));
  }

  const Program& program_;
  const Binding& binding_;
  FillKind fill_;
  std::int64_t radius_;
  std::vector<Uop> nodes_;
  Format format_{false};
  std::unordered_map<const UopNode*, Known> known_;
};

}  // namespace

Exactness exactness(const Program& program, const Binding& binding, FillKind fill,
                    std::int64_t radius) {
  return Analysis(program, binding, fill, radius).run();
}

Judgement judge(const Program& program, const Binding& binding, FillKind fill) {
  static constexpr std::array<std::int64_t, 7> kIndexRadii = {1'000'000, 1000, 31, 9, 3, 2, 1};
  static constexpr std::array<std::int64_t, 4> kIntegerRadii = {9, 3, 2, 1};
  std::span<const std::int64_t> radii = kIntegerRadii;
  if (fill == FillKind::index || fill == FillKind::onehot) radii = kIndexRadii;
  if (!is_whole(fill)) radii = radii.last(1);
  Judgement judgement;
  for (const std::int64_t radius : radii) {
    const Exactness e = exactness(program, binding, fill, radius);
    if (e.exact) return {true, radius, ""};
    judgement.reason = e.reason;
  }
  judgement.radius = is_whole(fill) ? 9 : 1;
  return judgement;
}

double multiply_adds(const Program& program, const Binding& binding) {
  const std::vector<Uop> outputs = roots(program);
  double reduced = -1;
  double largest = 0;
  for (const Uop& u : topological(outputs)) {
    if (const auto* r = std::get_if<uop::Reduce>(&u.node().kind)) {
      reduced = std::max(reduced, shape_volume(r->x, binding));
    }
    largest = std::max(largest, shape_volume(u, binding));
  }
  return reduced >= 0 ? reduced : largest;
}

}  // namespace mote
