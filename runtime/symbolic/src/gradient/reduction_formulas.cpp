// SPDX-License-Identifier: Apache-2.0
// The gradients of reductions, normalisations and of losses over classes. The axis that is reduced
// stays, with the extent 1.
#include <algorithm>
#include <array>
#include <utility>

#include "gradient/formula.h"
#include "gradient/formulas.h"

namespace mote {
namespace {

using Value = FormulaValue;

Value squared(Value v) { return v * v; }
Value inverse_root(Value v) { return v.formula->op("rsqrt", {v}); }
/// Returns softmax along the axis that the op works along.
Value shares(Formula& f, Value x) {
  const Value e = x.formula->op("log_softmax" + f.axis_text(), {x});
  return e.formula->op("exp", {e});
}

void sumsq(Formula& f) { f.set(0, 2 * (f.keep(f.gy()) * f.x())); }
void norm2(Formula& f) { f.set(0, f.keep(f.gy() / f.y()) * f.x()); }
void logsum(Formula& f) { f.set(0, f.spread(f.keep(f.gy()) / f.sum(f.x()))); }
void logsumexp(Formula& f) { f.set(0, f.keep(f.gy()) * shares(f, f.x())); }
void var(Formula& f) {
  const double count = std::max(static_cast<double>(f.extent()) - f.param("correction"), 0.0);
  f.set(0, 2 / count * (f.keep(f.gy()) * (f.x() - f.mean(f.x()))));
}
void std_deviation(Formula& f) {
  const double count = std::max(static_cast<double>(f.extent()) - f.param("correction"), 0.0);
  f.set(0, 1 / count * (f.keep(f.gy() / f.y()) * (f.x() - f.mean(f.x()))));
}
void softmax(Formula& f) {
  const Value weighted = f.gy() * f.y();
  f.set(0, weighted - f.y() * f.sum(weighted));
}
void log_softmax(Formula& f) { f.set(0, f.gy() - shares(f, f.x()) * f.sum(f.gy())); }
/// Where the norm is below eps, x is divided by eps.
void l2_normalise(Formula& f) {
  const double least = f.param("eps") * f.param("eps");
  const Value sum = f.sum(squared(f.x()));
  const Value is_greater = f.op("greater", {sum, f.number(least)});
  const Value r = inverse_root(f.op("max", {sum, f.number(least)}));
  const Value unit = f.x() * r;
  const Value along = f.sum(unit * f.gy());
  f.set(0, r * (f.gy() - unit * f.op("where", {is_greater, along, f.number(0)})));
}

/// gx of xh = (x - mean) r or x r, from the gradient u of xh.
Value normalised_gradient(Formula& f, Value u, Value unit, Value r, bool centred) {
  const Value along = unit * f.mean(u * unit);
  return r * (centred ? u - f.mean(u) - along : u - along);
}
void rms_norm(Formula& f) {
  const Value r = inverse_root(f.param("eps") + f.mean(squared(f.x())));
  const Value unit = f.x() * r;
  const Value u = f.has(1) ? f.gy() * f.x(1) : f.gy();
  f.set(0, normalised_gradient(f, u, unit, r, false));
  f.set(1, f.sum_to_axis(f.gy() * unit, 1));
}
void layer_norm(Formula& f) {
  const Value centred = f.x() - f.mean(f.x());
  const Value r = inverse_root(f.param("eps") + f.mean(squared(centred)));
  const Value unit = centred * r;
  const Value u = f.has(1) ? f.gy() * f.x(1) : f.gy();
  f.set(0, normalised_gradient(f, u, unit, r, true));
  f.set(1, f.sum_to_axis(f.gy() * unit, 1));
  f.set(2, f.sum_to_axis(f.gy(), 1));
}

/// x is normalised with given statistics of each channel.
void batch_norm(Formula& f) {
  const Value r = inverse_root(f.param("eps") + f.x(4));
  const Value centred = f.x(0) - f.along_axis(f.x(3), 1);
  const Value sum = f.sum_to_axis(f.gy(), 1);
  const Value product = f.sum_to_axis(f.gy() * centred, 1);
  const Value scale = f.x(1) * r;
  f.set(0, f.gy() * f.along_axis(scale, 1));
  f.set(1, product * r);
  f.set(2, sum);
  f.set(3, -(sum * scale));
  f.set(4, -0.5 * (product * (scale * squared(r))));
}

/// cross_entropy is nll of log_softmax.
template <bool is_sum>
void cross_entropy(Formula& f) {
  f.set(0, f.through_log_softmax(is_sum ? "nll" : "nll_none"));
}

constexpr auto kReductionFormulas = std::to_array<std::pair<std::string_view, WriteFormula>>({
    {"batch_norm", batch_norm},
    {"cross_entropy", cross_entropy<true>},
    {"cross_entropy_none", cross_entropy<false>},
    {"l2_normalise", l2_normalise},
    {"layer_norm", layer_norm},
    {"log_softmax", log_softmax},
    {"logsum", logsum},
    {"logsumexp", logsumexp},
    {"norm2", norm2},
    {"rms_norm", rms_norm},
    {"softmax", softmax},
    {"std", std_deviation},
    {"sumsq", sumsq},
    {"var", var},
});

}  // namespace

WriteFormula reduction_formula(std::string_view op) {
  for (const auto& [name, formula] : kReductionFormulas)
    if (name == op) return formula;
  return nullptr;
}

}  // namespace mote
