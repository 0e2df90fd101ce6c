// SPDX-License-Identifier: Apache-2.0
// Writes statements as C. In: statements of a loop program; out: lines of the function's body.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "c/writer.h"
#include "ir/dependence.h"
#include "ir/transposed.h"
#include "mote/base/error.h"
#include "mote/base/overloaded.h"

namespace mote::emit {
namespace {

bool is_arg(ReduceOp op) { return op == ReduceOp::argmax || op == ReduceOp::argmin; }

bool is_read(const Body& body, const std::string& tensor) {
  return std::ranges::any_of(accesses(body),
                             [&](const Access& a) { return a.tensor == tensor && !a.write; });
}

/// Returns the accumulators of the loops that stand in the branch, or in branches in it.
std::vector<Accumulator> accumulators_through_branch(const Stmt& s) {
  if (const auto* loop = std::get_if<Loop>(&s.kind)) return loop->accumulators;
  std::vector<Accumulator> all;
  if (const auto* branch = std::get_if<If>(&s.kind))
    for (const Stmt& inner : branch->body)
      for (const Accumulator& a : accumulators_through_branch(inner)) all.push_back(a);
  return all;
}

}  // namespace

const Writer::Declaration* Writer::declaration_at(const Stmt& s) const {
  const auto found = declares_.find(&s);
  return found == declares_.end() ? nullptr : &found->second;
}

void Writer::body(const Body& b, const Facts& facts) {
  for (std::size_t k = 0; k < b.size(); ++k) {
    if (std::holds_alternative<If>(b[k].kind)) open_before_branch(b, k);
    statement(b[k], facts);
  }
}

/// Opens, before a branch, the accumulators of its loops that later statements read: a branch is
/// transparent to them.
void Writer::open_before_branch(const Body& b, std::size_t k) {
  const Body later(b.begin() + static_cast<std::ptrdiff_t>(k) + 1, b.end());
  const std::set<std::string> read = accumulators_read(later);
  for (const Accumulator& a : accumulators_through_branch(b[k])) {
    if (!read.contains(a.name) || !opened_.insert(a.name).second) continue;
    open_accumulator(a);
  }
}

void Writer::statement(const Stmt& s, const Facts& facts) {
  std::visit(
      Overloaded{[&](const Loop& l) { loop(l, facts); }, [&](const If& i) { branch(i, facts); },
                 [&](const Store& st) { store(st, facts, declaration_at(s)); },
                 [&](const StoreReduce& st) { store_reduce(st, facts); },
                 [&](const Fold& f) { fold(f, facts); }, [&](const Let& l) { let(l, facts); },
                 [&](const Barrier&) { barrier(); },
                 [&](const WaitForCopies& w) { wait_for_copies(w); }},
      s.kind);
}

void Writer::barrier() { throw InternalError("emit_c: a barrier of a block's threads"); }

void Writer::wait_for_copies(const WaitForCopies& /*wait*/) {
  throw InternalError("emit_c: asynchronous copies of a block's threads");
}

void Writer::declare_of_block(const TensorDecl& t) {
  throw InternalError(fmt::format("emit_c: {} is memory of a block's threads", t.name));
}

void Writer::open_accumulators(const Loop& l) {
  for (const Accumulator& a : l.accumulators)
    if (!opened_.contains(a.name)) open_accumulator(a);
}

void Writer::open_accumulator(const Accumulator& a) {
  const std::string& name = names_.local(a.name);
  if (is_arg(a.op)) {
    const ReduceOp order = a.op == ReduceOp::argmax ? ReduceOp::max : ReduceOp::min;
    line(fmt::format("{} {} = {};", number_type(a.dtype), name, start(order, a.dtype)));
    line(fmt::format("int64_t {} = -1;", names_.position(a.name)));
    return;
  }
  const std::string first = start(a.op, a.dtype);
  if (a.dtype == DType::boolean) {
    line(fmt::format("bool {} = {};", name, first == "0" ? "false" : "true"));
  } else if (short_extrema_.contains(a.name)) {
    line(fmt::format("int32_t {} = {};", name, first));
    printer_.set_local_type(a.name, CType::i32);
  } else {
    line(fmt::format("{} {} = {};", number_type(a.dtype), name, first));
  }
}

/// Returns the type of values of the dtype; a truth is kept as a number.
std::string Writer::number_type(DType dtype) const {
  return dtype == DType::boolean ? "int64_t" : local_type(dtype, p_.native);
}

std::string Writer::start(ReduceOp op, DType dtype) const {
  const Number n = neutral(op, dtype);
  return p_.native && is_in_float(dtype) ? float_text(static_cast<float>(n.real())) : literal(n);
}

void Writer::branch(const If& i, const Facts& facts) {
  if (printer_.are_known(i.conditions, facts)) {
    body(i.body, facts);
    return;
  }
  Facts inside = facts;
  line(fmt::format("if ({}) {{", printer_.conditions(i.conditions, inside).text));
  ++indent_;
  body(i.body, inside);
  --indent_;
  line("}");
}

/// Returns the text, printed since the mark, as the right side of an assignment to an element.
std::string Writer::stored(const Text& t, const TensorDecl& to, std::size_t uses_begin) const {
  Uses& uses = printer_.uses();
  if (to.is_for_tensor_cores && to.dtype == DType::f32)
    return call("mote_to_tf32", as_float(t), uses);
  if (p_.native && is_in_float(to.dtype)) {
    const bool is_stored_narrow = is_narrow(to.dtype) && to.role != TensorRole::temporary;
    return is_stored_narrow ? narrow(t, to.dtype, uses) : as_float(t).text;
  }
  if (to.role == TensorRole::temporary)
    return to.integer_bits == 64
               ? t.text
               : fmt::format("({}){}", local_type(to, p_.native), operand(as_number(t), kUnary));
  if (is_narrow(to.dtype)) return call(fmt::format("mote_to_{}", name(to.dtype)), t, uses);
  if (is_integer(to.dtype) && size_of(to.dtype) < 4)
    return fmt::format("({}){}", storage_type(to.dtype), operand(as_number(t), kUnary));
  switch (to.dtype) {
    case DType::f32:
      return t.type == CType::f32 ? t.text : "(float)" + operand(t, kUnary);
    case DType::i32: {
      const bool narrow = t.type == CType::i32 || t.type == CType::flag;
      return narrow ? t.text : "(int32_t)" + operand(t, kUnary);
    }
    case DType::boolean: {
      // gcc sees that a comparison is 0 or 1, but not after it has folded isnan, ?: and &&.
      const bool folds = std::ranges::any_of(
          std::initializer_list<const char*>{"isnan", "isinf", "?:"},
          [&](const char* function) { return uses.calls(function, uses_begin); });
      const bool compared = t.precedence == kEquality || t.precedence == kRelation;
      if (t.type == CType::flag && !folds && (compared || t.precedence == kTight)) return t.text;
      if (t.type == CType::byte) return as_number(t).text;
      return "(uint8_t)" + operand(as_number(t), kUnary);
    }
    default:
      return t.text;
  }
}

/// Returns the bits of an input's element that is copied, which need not be converted.
std::optional<std::string> Writer::stored_bits(const Store& s, const Facts& facts) const {
  const auto* load = std::get_if<value::Load>(&s.value->kind);
  if (!moves_bits() || load == nullptr || !is_narrow(s.value->dtype) || !is_copy(p_, s))
    return std::nullopt;
  return printer_.element(*find_tensor(p_, load->tensor), load->index, facts);
}

void Writer::store(const Store& s, const Facts& facts, const Declaration* declaration) {
  const TensorDecl& t = *find_tensor(p_, s.tensor);
  const std::size_t uses_begin = printer_.uses().mark();
  const std::optional<std::string> bits = stored_bits(s, facts);
  const std::string right = bits ? *bits : stored(printer_.value(s.value, facts), t, uses_begin);
  const std::string left = target(t, s.index, facts);
  if (declaration == nullptr) {
    line(fmt::format("{} = {};", left, right));
    return;
  }
  const std::string definition =
      fmt::format("{} {} = {};", local_type(t.dtype, p_.native), left, right);
  if (declaration->is_constant)
    define(left, uses_begin, "const " + definition);
  else
    line(definition);
  if (!is_read(p_.body, s.tensor)) line(fmt::format("(void){};", printer_.read(left)));
}

/// Returns the left side of an assignment, which reads no local.
std::string Writer::target(const TensorDecl& t, const std::vector<Expr>& index,
                           const Facts& facts) const {
  return Printer::is_local(t) ? names_.tensor(t.name) : printer_.element(t, index, facts);
}

Text Writer::reduced(ReduceOp op, const Text& a, const Text& b) const {
  const auto combined = [&](MapOp map_op) {
    Uses& uses = printer_.uses();
    return p_.native ? native_binary(map_op, a, b, uses) : binary(map_op, a, b, uses);
  };
  switch (op) {
    case ReduceOp::sum:
      return combined(MapOp::add);
    case ReduceOp::prod:
      return combined(MapOp::mul);
    case ReduceOp::max:
      return combined(MapOp::max);
    case ReduceOp::min:
      return combined(MapOp::min);
    case ReduceOp::any:
      return combined(MapOp::logical_or);
    case ReduceOp::all:
      return combined(MapOp::logical_and);
    default:
      throw InternalError(fmt::format("emit_c: {} has no position to remember", name(op)));
  }
}

/// Returns `where(condition on data, element, 0)` in float without a branch, which would follow no
/// pattern; nullopt for any other value, and in vectors, which have no branches.
std::optional<Text> Writer::kept_or_0(const Value& v, const Facts& facts) {
  const auto* op = std::get_if<value::Op>(&v->kind);
  if (op == nullptr || op->op != MapOp::where || v->dtype != DType::f32 || printer_.in_vectors())
    return std::nullopt;
  const auto* zero = std::get_if<value::Constant>(&op->args[2]->kind);
  if (zero == nullptr || !zero->number.is_real() || zero->number.real() != 0.0 ||
      std::signbit(zero->number.real()) ||
      !std::holds_alternative<value::Load>(op->args[1]->kind) || !reads_elements(op->args[0]))
    return std::nullopt;
  const Text condition = printer_.value(op->args[0], facts);
  const Text element = printer_.value(op->args[1], facts);
  if (element.type != CType::f32) return std::nullopt;
  printer_.uses().call("mote_keepf");
  return Text{fmt::format("mote_keepf({}, {})", condition.text, element.text), kTight, CType::f32};
}

void Writer::store_reduce(const StoreReduce& s, const Facts& facts) {
  const TensorDecl& t = *find_tensor(p_, s.tensor);
  const std::string left = target(t, s.index, facts);
  const std::size_t uses_begin = printer_.uses().mark();
  const auto kept = p_.native && s.op == ScatterOp::add ? kept_or_0(s.value, facts) : std::nullopt;
  Text v = kept ? *kept : printer_.value(s.value, facts);
  const std::size_t behind_value = printer_.uses().mark();
  const Text old = printer_.element_value(t, s.index, facts);
  const bool in_float = p_.native && old.type == CType::f32;
  if (in_float) v = as_float(v);
  const bool is_converted = is_narrow(t.dtype) && t.role != TensorRole::temporary;
  const bool in_c = (in_float || old.type == CType::f64) && !is_converted;
  const bool has_operator = in_c && (s.op == ScatterOp::add || s.op == ScatterOp::mul);
  if (has_operator || s.op == ScatterOp::set) printer_.uses().erase(behind_value);
  if (has_operator)
    line(fmt::format("{} {}= {};", left, s.op == ScatterOp::add ? '+' : '*', v.text));
  else
    line(fmt::format("{} = {};", left, stored(combined(s.op, old, v, t.dtype), t, uses_begin)));
}

/// Returns the new value of the element.
Text Writer::combined(ScatterOp op, const Text& old, const Text& v, DType dtype) const {
  const bool truth = dtype == DType::boolean;
  switch (op) {
    case ScatterOp::add:
      return reduced(ReduceOp::sum, old, v);
    case ScatterOp::mul:
      return reduced(ReduceOp::prod, old, v);
    case ScatterOp::max:
      return reduced(truth ? ReduceOp::any : ReduceOp::max, old, v);
    case ScatterOp::min:
      return reduced(truth ? ReduceOp::all : ReduceOp::min, old, v);
    case ScatterOp::set:
      return v;
  }
  throw InternalError("emit_c: unknown scatter op");
}

/// Returns the float where folds change the accumulator, else one that changes nothing.
Text Writer::under_test(const Fold& f, const Text& v) {
  const std::string neutral_value = start(f.op, f.value->dtype);
  printer_.uses().call("mote_wheref");
  return {fmt::format("mote_wheref({}, {}, {})", fold_under_, v.text, neutral_value), kTight,
          CType::f32};
}

void Writer::fold(const Fold& f, const Facts& facts) {
  if (is_arg(f.op)) {
    fold_position(f, facts);
    return;
  }
  Text v = printer_.value(f.value, facts);
  const std::string& name = names_.local(f.accumulator);
  const bool real = is_real(f.value->dtype);
  const CType kept = printer_.type_of_name(f.accumulator, f.value->dtype);
  if (kept == CType::f32) v = as_float(v);
  if (!fold_under_.empty()) v = under_test(f, v);
  if (real && (f.op == ReduceOp::sum || f.op == ReduceOp::prod)) {
    line(fmt::format("{} {}= {};", name, f.op == ReduceOp::sum ? '+' : '*', v.text));
    return;
  }
  const bool truth = f.value->dtype == DType::boolean;
  const Text old{name, kTight, truth ? CType::flag : kept};
  const Text next = reduced(truth ? logical(f.op) : f.op, old, v);
  const bool is_wider = kept == CType::i32 && next.type == CType::i64;
  line(fmt::format("{} = {};", name, is_wider ? "(int32_t)" + operand(next, kUnary) : next.text));
}

/// Returns the reduction of truths: the greatest is true if any is, the least if all are.
ReduceOp Writer::logical(ReduceOp op) {
  return op == ReduceOp::max ? ReduceOp::any : op == ReduceOp::min ? ReduceOp::all : op;
}

/// Writes an argmax or argmin: the first position wins, and the first NaN wins over all numbers.
void Writer::fold_position(const Fold& f, const Facts& facts) {
  const std::string& best = names_.local(f.accumulator);
  const std::string& at = names_.position(f.accumulator);
  const bool real = is_real(f.value->dtype);
  Text v = printer_.number(f.value, facts);
  if (real && p_.native && is_in_float(f.value->dtype)) v = as_float(v);
  const std::string candidate = names_.fresh("candidate");
  const char* beats = f.op == ReduceOp::argmax ? ">" : "<";
  line(fmt::format("const {} {} = {};", number_type(f.value->dtype), candidate, v.text));
  std::string test = fmt::format("{} < 0 || {} {} {}", at, candidate, beats, best);
  if (real) test += fmt::format(" || (isnan({}) && !isnan({}))", candidate, best);
  line(fmt::format("if ({}) {{", test));
  line(fmt::format("  {} = {};", best, candidate));
  line(fmt::format("  {} = {};", at, printer_.expr(f.position, facts).text));
  line("}");
}

void Writer::let(const Let& l, const Facts& facts) {
  if (!names_read_.contains(l.name)) return;
  const std::size_t uses_begin = printer_.uses().mark();
  const Text v = printer_.value(l.value, facts);
  std::string type = local_type(l.value->dtype, p_.native);
  if (type == "float" && v.type == CType::f64) {
    type = "double";
    printer_.set_local_type(l.name, CType::f64);
  }
  if (p_.native && type == "int64_t" && v.type == CType::i32) {
    type = "int32_t";
    printer_.set_local_type(l.name, CType::i32);
  }
  printer_.bind(l);
  const std::string& name = names_.local(l.name);
  define(name, uses_begin, fmt::format("const {} {} = {};", type, name, v.text));
}

}  // namespace mote::emit
