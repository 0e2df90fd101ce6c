// SPDX-License-Identifier: Apache-2.0
// The part of Writer that divides in vectors: where a loop does not change a divisor, its
// iterations multiply by the reciprocal, a * (1/b), which rounds twice. docs/bound.md allows that
// of a division in float. Quotients that are compared, or rounded to integers, are divided: there
// x / x must be 1.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "c/writer.h"
#include "ir/dependence.h"

namespace mote::emit {
namespace {

/// Returns true for an op whose result jumps where an argument changes a little.
bool jumps(const Value& v) {
  const auto* op = std::get_if<value::Op>(&v->kind);
  if (op == nullptr || !is_real(op->arg_dtype)) return false;
  switch (op->op) {
    case MapOp::floor:
    case MapOp::ceil:
    case MapOp::round:
    case MapOp::trunc:
    case MapOp::sign:
    case MapOp::mod:
      return true;
    default:
      return !is_real(v->dtype);  // comparisons, and casts to integers
  }
}

/// Calls f on every part of an argument of an op that jumps.
void for_each_jumping(const Body& body, const std::function<void(const Value&)>& f) {
  for_each(body, [&](const Stmt& s) {
    for_each_value(s, [&](const Value& v) {
      if (jumps(v)) for_each_value(v, f);
    });
  });
}

/// Calls f on the value and its parts that are computed whenever it is, not on those under
/// conditions; nor on arguments of ops that jump.
void for_each_smooth(const Value& v, const std::function<void(const Value&)>& f) {
  if (jumps(v)) return;
  f(v);
  if (const auto* op = std::get_if<value::Op>(&v->kind))
    for (const Value& arg : op->args) for_each_smooth(arg, f);
}

/// Returns true if an op that jumps reads the name, the accumulator or an element of the tensor.
bool reaches_jump(const LoopProgram& p, const std::string& name) {
  bool found = false;
  for_each_jumping(p.body, [&](const Value& part) {
    const auto* named = std::get_if<value::Named>(&part->kind);
    const auto* folded = std::get_if<value::Accumulated>(&part->kind);
    const auto* load = std::get_if<value::Load>(&part->kind);
    found = found || (named != nullptr && named->name == name) ||
            (folded != nullptr && folded->name == name) ||
            (load != nullptr && load->tensor == name);
  });
  return found;
}

/// Returns the name, accumulator or tensor that the statement gives its value to.
std::string given_to(const Stmt& s) {
  if (const auto* let = std::get_if<Let>(&s.kind)) return let->name;
  if (const auto* store = std::get_if<Store>(&s.kind)) return store->tensor;
  if (const auto* reduce = std::get_if<StoreReduce>(&s.kind)) return reduce->tensor;
  if (const auto* fold = std::get_if<Fold>(&s.kind)) return fold->accumulator;
  return "";
}

/// Returns the divisor, if the value is a quotient in float; null if it is not.
Value divisor_of(const Value& v) {
  const auto* op = std::get_if<value::Op>(&v->kind);
  const bool divides = op != nullptr && op->op == MapOp::div && is_in_float(op->arg_dtype);
  return divides ? op->args[1] : nullptr;
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
  std::vector<Value> exact;  // divisors of quotients that ops which jump read
  for_each_jumping(l.body, [&](const Value& v) {
    if (Value divisor = divisor_of(v)) exact.push_back(std::move(divisor));
  });
  const auto add = [&](const Value& v) {
    const Value divisor = divisor_of(v);
    if (divisor == nullptr) return;
    const auto same = [&](const Divisor& d) { return equal(d.value, divisor); };
    const auto is_equal = [&](const Value& other) { return equal(other, divisor); };
    if (std::ranges::any_of(divisors, same) || std::ranges::any_of(exact, is_equal) ||
        !is_still(divisor, p_, l, effects, facts))
      return;
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
  for (const Stmt& s : l.body) {
    const Value* v = value_of(s);
    if (v != nullptr && !reaches_jump(p_, given_to(s))) for_each_smooth(*v, add);
  }
  return divisors;
}

}  // namespace mote::emit
