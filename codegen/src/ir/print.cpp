// SPDX-License-Identifier: Apache-2.0
// Prints loop programs, for people and golden files. In: a program, statement, value or conditions;
// out: text that is the same on every run. Sizes that the source names (OH) print by their name
// wherever their value occurs; their meaning stands below the signature.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <utility>

#include "ir/print_index.h"
#include "mote/base/error.h"
#include "mote/base/overloaded.h"
#include "mote/codegen/loops.h"

namespace mote {
namespace {

using print::IndexPrinter;
using text::Precedence;
using enum text::Precedence;
using print::right_of;
using print::Text;
using print::within;

std::string number_text(const Number& n) {
  if (!n.is_real()) return fmt::format("{}", n.integer());
  return std::isnan(n.real()) ? "nan" : fmt::format("{}", n.real());
}

std::string assignment(ScatterOp op) {
  if (op == ScatterOp::add) return "+=";
  if (op == ScatterOp::mul) return "*=";
  return fmt::format("{}=", name(op));
}

std::string assignment(ReduceOp op) {
  if (op == ReduceOp::sum) return "+=";
  if (op == ReduceOp::prod) return "*=";
  return fmt::format("{}=", name(op));
}

class Printer {
 public:
  explicit Printer(const Program* source = nullptr) : index_(source) {}

  std::string program(const LoopProgram& p) const;
  void body(const Body& b, int indent, std::string& out) const;
  void stmt(const Stmt& s, int indent, std::string& out) const;
  Text value(const Value& v) const;
  Text conditions(const Conditions& c) const;

 private:
  Text expr(const Expr& e) const { return index_.expr(e); }
  std::string list(const std::vector<Expr>& exprs) const;
  std::string element(const std::string& tensor, const std::vector<Expr>& index) const;
  std::string tensors(const LoopProgram& p, TensorRole role) const;
  Text operation(const value::Op& op, DType dtype) const;
  std::string digits(const Loop& loop) const;
  std::string head(const Loop& loop) const;

  IndexPrinter index_;
};

std::string Printer::list(const std::vector<Expr>& exprs) const {
  std::string out;
  for (const Expr& e : exprs) out += (out.empty() ? "" : ", ") + expr(e).text;
  return out;
}

std::string Printer::element(const std::string& tensor, const std::vector<Expr>& index) const {
  return fmt::format("{}[{}]", tensor, list(index));
}

Text Printer::conditions(const Conditions& c) const {
  std::string out;
  for (const Condition& one : c) out += (out.empty() ? "" : " && ") + index_.comparison(one);
  return {out, c.size() > 1 ? kAnd : kRelation};
}

Text Printer::operation(const value::Op& op, DType dtype) const {
  std::vector<Text> args;
  for (const Value& a : op.args) args.push_back(value(a));
  if (op.op == MapOp::neg) return {"-" + right_of(args[0], kUnary), kUnary};
  if (op.op == MapOp::logical_not) return {"!" + within(args[0], kUnary), kUnary};
  if (const std::optional<Infix>& in = info(op.op).infix) {
    const auto next = static_cast<Precedence>(in->precedence + 1);
    const bool chains = in->precedence != kRelation && in->precedence != kEquality;
    const char* space = in->precedence == kProduct ? "" : " ";
    return {fmt::format("{}{}{}{}{}", within(args[0], chains ? in->precedence : next), space,
                        in->symbol, space, right_of(args[1], next)),
            in->precedence};
  }
  std::string list;
  for (const Text& a : args) list += (list.empty() ? "" : ", ") + a.text;
  const std::string_view function = op.op == MapOp::cast ? name(dtype) : name(op.op);
  return {fmt::format("{}({})", function, list), kTight};
}

Text Printer::value(const Value& v) const {
  return std::visit(Overloaded{[](const value::Constant& c) -> Text {
                                 const std::string text = number_text(c.number);
                                 return {text, text.starts_with('-') ? kUnary : kTight};
                               },
                               [this](const value::Index& i) { return expr(i.e); },
                               [](const value::Param& p) -> Text {
                                 return {"$" + p.name, kTight};
                               },
                               [this](const value::Load& l) -> Text {
                                 return {element(l.tensor, l.index), kTight};
                               },
                               [this, &v](const value::Op& op) { return operation(op, v->dtype); },
                               [this](const value::Guard& g) -> Text {
                                 return {
                                     fmt::format("({} ? {} : {})", conditions(g.conditions).text,
                                                 value(g.then).text, number_text(g.otherwise)),
                                     kTight};
                               },
                               [](const value::Accumulated& a) -> Text {
                                 return {a.name, kTight};
                               },
                               [](const value::Named& b) -> Text {
                                 return {b.name, kTight};
                               }},
                    v->kind);
}

std::string_view kind_text(LoopKind kind) {
  switch (kind) {
    case LoopKind::serial:
      return "";
    case LoopKind::threads:
      return "threads ";
    case LoopKind::simd:
      return "simd ";
    case LoopKind::unrolled:
      return "unrolled ";
    case LoopKind::transposed:
      return "transposed ";
    case LoopKind::grid:
      return "grid ";
    case LoopKind::warp:
      return "warp ";
    case LoopKind::block_threads:
      return "block_threads ";
    case LoopKind::fragments:
      return "fragments ";
    case LoopKind::ahead:
      return "ahead ";
  }
  throw InternalError("to_string: unknown kind of loop");
}

/// Returns `, n in 0..N, oh in 0..OH of number column`.
std::string Printer::digits(const Loop& loop) const {
  std::string out;
  for (const LoopDigit& d : loop.digits) {
    out += fmt::format(", {} in {}..{}", d.variable.to_string(), within(expr(d.begin), kProduct),
                       within(expr(d.end), kProduct));
    if (d.step != Expr(1)) out += fmt::format(" step {}", expr(d.step).text);
  }
  return out + " of number " + expr(loop.number).text;
}

std::string_view memory_text(TensorMemory memory) {
  switch (memory) {
    case TensorMemory::automatic:
      return "";
    case TensorMemory::registers:
      return " in registers";
    case TensorMemory::shared:
      return " in shared memory";
    case TensorMemory::local:
      return " in each thread";
    case TensorMemory::fragments:
      return " in fragments";
  }
  throw InternalError("to_string: unknown memory of a tensor");
}

std::string Printer::head(const Loop& loop) const {
  std::string out =
      fmt::format("{}for {} in {}..{}", kind_text(loop.kind), loop.variable.to_string(),
                  within(expr(loop.begin), kProduct), within(expr(loop.end), kProduct));
  if (loop.step != Expr(1)) out += fmt::format(" step {}", expr(loop.step).text);
  if (!loop.digits.empty()) out += digits(loop);
  if (loop.work != Expr(0)) out += fmt::format(", where {} is large", expr(loop.work).text);
  std::vector<std::string> adjacent;
  for (const KnownStride& k : loop.adjacent_under)
    adjacent.push_back(fmt::format("axis {} of {} has stride {}", k.axis, k.tensor, k.stride));
  for (const Symbol one : loop.adjacent_under_ones) adjacent.push_back(one.to_string() + " == 1");
  if (!adjacent.empty()) out += fmt::format(", adjacent if {}", fmt::join(adjacent, " and "));
  for (const PrefetchedElement& e : loop.prefetched)
    out += fmt::format(", prefetches {}", element(e.tensor, e.index));
  std::string_view separator = " with ";
  for (const Accumulator& a : loop.accumulators) {
    out += fmt::format("{}{} = {}", separator, a.name, name(a.op));
    separator = ", ";
  }
  return out;
}

void Printer::stmt(const Stmt& s, int indent, std::string& out) const {
  const std::string margin(static_cast<std::size_t>(2 * indent), ' ');
  const auto nested = [&](const std::string& opening, const Body& inner) {
    out += fmt::format("{}{} {{\n", margin, opening);
    body(inner, indent + 1, out);
    out += margin + "}\n";
  };
  const auto line = [&](const std::string& left, std::string_view sign, const Value& v,
                        const std::string& tail = "") {
    out += fmt::format("{}{} {} {}{}\n", margin, left, sign, value(v).text, tail);
  };
  std::visit(Overloaded{[&](const Loop& l) { nested(head(l), l.body); },
                        [&](const If& i) { nested("if " + conditions(i.conditions).text, i.body); },
                        [&](const Store& st) { line(element(st.tensor, st.index), "=", st.value); },
                        [&](const StoreReduce& st) {
                          line(element(st.tensor, st.index), assignment(st.op), st.value);
                        },
                        [&](const Fold& f) {
                          const bool at = f.op == ReduceOp::argmax || f.op == ReduceOp::argmin;
                          line(f.accumulator, assignment(f.op), f.value,
                               at ? " at " + expr(f.position).text : "");
                        },
                        [&](const Let& l) { line(l.name, "=", l.value); },
                        [&](const Barrier&) { out += margin + "barrier\n"; },
                        [&](const WaitForCopies& w) {
                          out += fmt::format("{}wait until at most {} copies are under way\n",
                                             margin, w.pending);
                        }},
             s.kind);
}

void Printer::body(const Body& b, int indent, std::string& out) const {
  for (const Stmt& s : b) stmt(s, indent, out);
}

std::string Printer::tensors(const LoopProgram& p, TensorRole role) const {
  std::string out;
  for (const TensorDecl& t : p.tensors) {
    if (t.role != role) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", t.name, name(t.dtype));
    if (!t.shape.empty()) out += "[" + list(t.shape) + "]";
    if (t.per) out += " in each " + t.per->to_string();
    out += memory_text(t.memory);
    if (!t.in_place_of.empty()) out += " in place of " + t.in_place_of;
    if (t.is_for_tensor_cores) out += " for tensor cores";
    if (t.integer_bits != 64) out += fmt::format(" in {} bits", t.integer_bits);
    if (t.ordered_like)
      out += fmt::format(" ordered like axes {} and {} of {}", t.ordered_like->last_but_one,
                         t.ordered_like->last, t.ordered_like->tensor);
  }
  return out;
}

std::string Printer::program(const LoopProgram& p) const {
  std::string inputs = tensors(p, TensorRole::input);
  if (p.source) {
    for (const ParamDecl& param : p.source->params) {
      inputs += (inputs.empty() ? "$" : ", $") + param.name;
    }
  }
  std::string out = fmt::format("{}({}) -> ({})\n", p.name, inputs, tensors(p, TensorRole::output));
  for (const NamedSize& s : index_.derived()) {
    out += fmt::format("where {} = {}\n", s.name, s.value.to_string());
  }
  const std::string temporaries = tensors(p, TensorRole::temporary);
  if (!temporaries.empty()) out += "temporary " + temporaries + "\n";
  for (const KnownStride& k : p.strides)
    out += fmt::format("stride {} of {}, axis {}\n", k.stride, k.tensor, k.axis);
  if (!p.demands.empty()) out += "demands " + conditions(p.demands).text + "\n";
  if (p.vector_bytes != 0)
    out += fmt::format("vectors of {} bytes{}\n", p.vector_bytes,
                       p.is_for_no_larger_vectors ? ", where none are larger" : "");
  if (p.multiplies_padding) out += "multiplies padding\n";
  body(p.body, 0, out);
  return out;
}

}  // namespace

std::string to_string(const LoopProgram& p) { return Printer(p.source.get()).program(p); }

std::string to_string(const Stmt& s, int indent) {
  std::string out;
  Printer().stmt(s, indent, out);
  return out;
}

std::string to_string(const Value& v) { return Printer().value(v).text; }

std::string to_string(const Conditions& c) { return Printer().conditions(c).text; }

}  // namespace mote
