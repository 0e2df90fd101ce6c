// SPDX-License-Identifier: Apache-2.0
// The part of Writer that divides in vectors: where a loop does not change a divisor, its
// iterations multiply by the reciprocal, a * (1/b), which rounds twice. docs/bound.md allows that
// of a division in float.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "c/writer.h"
#include "ir/dependence.h"
#include "schedule/tiles/nest.h"

namespace mote::emit {
namespace {

/// Calls f on the value and its parts that are computed whenever it is: not on those under
/// conditions.
void for_each_computed(const Value& v, const std::function<void(const Value&)>& f) {
  f(v);
  if (const auto* op = std::get_if<value::Op>(&v->kind))
    for (const Value& arg : op->args) for_each_computed(arg, f);
}

const Value* value_of(const Stmt& s) {
  if (const auto* let = std::get_if<Let>(&s.kind)) return &let->value;
  if (const auto* store = std::get_if<Store>(&s.kind)) return &store->value;
  if (const auto* reduce = std::get_if<StoreReduce>(&s.kind)) return &reduce->value;
  if (const auto* fold = std::get_if<Fold>(&s.kind)) return &fold->value;
  return nullptr;
}

/// Returns true if the loop does not change the value, which can be read in front of it, even if
/// the loop has no iterations.
bool is_still(const Value& v, const LoopProgram& p, const Loop& l, const Effects& effects,
              const Facts& facts) {
  if (const auto* a = std::get_if<value::Accumulated>(&v->kind))
    return !effects.declared.contains(a->name);
  if (const auto* n = std::get_if<value::Named>(&v->kind))
    return !effects.declared.contains(n->name);
  const auto* load = std::get_if<value::Load>(&v->kind);
  return load != nullptr && find_tensor(p, load->tensor)->role == TensorRole::temporary &&
         !effects.written.contains(load->tensor) &&
         std::ranges::none_of(load->index, [&](const Expr& e) { return e.mentions(l.variable); }) &&
         is_in_range(p, *load, facts);
}

}  // namespace

std::vector<Divisor> Writer::divisors_ahead(const Loop& l, const Facts& facts) {
  std::vector<Divisor> divisors;
  if (l.kind != LoopKind::simd || !p_.native || printer_.target() != Target::c) return divisors;
  const Effects effects = effects_of(l.body);
  const auto add = [&](const Value& v) {
    const auto* op = std::get_if<value::Op>(&v->kind);
    if (op == nullptr || op->op != MapOp::div || !is_in_float(op->arg_dtype)) return;
    const Value& divisor = op->args[1];
    const auto same = [&](const Divisor& d) { return equal(d.value, divisor); };
    if (std::ranges::any_of(divisors, same) || !is_still(divisor, p_, l, effects, facts)) return;
    const std::size_t uses_begin = printer_.uses().mark();
    const Text text = printer_.value(divisor, facts);
    if (text.type != CType::f32) return;
    const Divisor d{divisor, names_.fresh("divisor_scale"), names_.fresh("reciprocal")};
    define(d.scale, uses_begin,
           fmt::format("const float {} = {};", d.scale,
                       call("mote_divisor_scale", text, printer_.uses())));
    const std::size_t behind = printer_.uses().mark();
    define(d.reciprocal, behind,
           fmt::format("const float {} = 1.0f / ({} * {});", d.reciprocal,
                       within(printer_.value(divisor, facts), kProduct), printer_.read(d.scale)));
    divisors.push_back(d);
  };
  for (const Stmt& s : l.body)
    if (const Value* v = value_of(s)) for_each_computed(*v, add);
  return divisors;
}

}  // namespace mote::emit
