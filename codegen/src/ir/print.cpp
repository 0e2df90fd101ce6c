// SPDX-License-Identifier: Apache-2.0
// Prints loop programs, for people and golden files. In: a program, statement, value or conditions;
// out: text that is the same on every run. Sizes that the source names (OH) print by their name
// wherever their value occurs; their meaning stands below the signature: `where OH = …`, or `size
// OH = …` if the program itself mentions the name. The text of a program says all that
// parse_loops() needs to read an equal program back.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/print_value.h"
#include "ir/text_words.h"
#include "mote/base/overloaded.h"
#include "mote/codegen/loops.h"
#include "mote/codegen/walk.h"

namespace mote {
namespace {

using enum text::Precedence;
using print::Text;
using print::within;

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

std::string_view word_of(LoopKind kind) {
  return std::ranges::find(words::kLoops, kind, &words::LoopWord::kind)->word;
}

std::string_view words_of(TensorMemory memory) {
  return std::ranges::find(words::kMemories, memory, &words::MemoryWords::memory)->words;
}

class Printer {
 public:
  explicit Printer(const LoopProgram* p = nullptr) : p_(p), values_(p) {}

  std::string program(const LoopProgram& p) const;
  void body(const Body& b, int indent, std::string& out) const;
  void stmt(const Stmt& s, int indent, std::string& out) const;
  Text value(const Value& v) const { return values_.value(v, v->dtype); }
  Text conditions(const Conditions& c) const { return values_.conditions(c); }

 private:
  Text expr(const Expr& e) const { return values_.expr(e); }
  std::string element(const std::string& tensor, const std::vector<Expr>& index) const {
    return values_.element(tensor, index);
  }
  std::string tensors(const LoopProgram& p, TensorRole role) const;
  std::string digits(const Loop& loop) const;
  std::string head(const Loop& loop) const;
  bool tells(const Loop& loop, const Accumulator& a) const;
  std::optional<DType> known(const Stmt& s, const Value& v) const;

  const LoopProgram* p_;  ///< whose text is read back; null: a statement alone is printed
  print::ValuePrinter values_;
};

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

/// Returns true if the dtype of what an accumulator folds follows from the first value that is
/// folded.
bool Printer::tells(const Loop& loop, const Accumulator& a) const {
  std::optional<Told> told;
  for_each(loop.body, [&](const Stmt& s) {
    const auto* fold = std::get_if<Fold>(&s.kind);
    if (!told && fold != nullptr && fold->accumulator == a.name) told = values_.told(fold->value);
  });
  return told && told->known() == a.dtype;
}

std::string Printer::head(const Loop& loop) const {
  const std::string_view kind = word_of(loop.kind);
  std::string out =
      fmt::format("{}{}for {} in {}..{}", kind, kind.empty() ? "" : " ", loop.variable.to_string(),
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
    if (p_ != nullptr && !tells(loop, a)) out += fmt::format(" of {}", name(a.dtype));
    separator = ", ";
  }
  return out;
}

/// Returns the dtype that is known where the statement's value stands.
std::optional<DType> Printer::known(const Stmt& s, const Value& v) const {
  const std::string* tensor = nullptr;
  if (const auto* store = std::get_if<Store>(&s.kind)) tensor = &store->tensor;
  if (const auto* store = std::get_if<StoreReduce>(&s.kind)) tensor = &store->tensor;
  const TensorDecl* t = tensor != nullptr && p_ != nullptr ? find_tensor(*p_, *tensor) : nullptr;
  if (t != nullptr) return t->dtype;
  return std::holds_alternative<Let>(s.kind) ? std::nullopt : std::optional(v->dtype);
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
    const Text text = values_.value(v, known(s, v));
    out += fmt::format("{}{} {} {}{}\n", margin, left, sign, text.text, tail);
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
    if (!t.shape.empty()) out += "[" + values_.list(t.shape) + "]";
    if (t.per) out += " in each " + t.per->to_string();
    if (t.memory != TensorMemory::automatic) out += fmt::format(" {}", words_of(t.memory));
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
  for (const NamedSize& s : values_.index().derived()) {
    out += fmt::format("where {} = {}\n", s.name, s.value.to_string());
  }
  for (const NamedSize& s : values_.index().mentioned()) {
    out += fmt::format("size {} = {}\n", s.name, s.value.to_string());
  }
  const std::string temporaries = tensors(p, TensorRole::temporary);
  if (!temporaries.empty()) out += "temporary " + temporaries + "\n";
  for (const KnownStride& k : p.strides)
    out += fmt::format("stride {} of {}, axis {}\n", k.stride, k.tensor, k.axis);
  if (!p.demands.empty()) out += "demands " + conditions(p.demands).text + "\n";
  if (p.vector_bytes != 0 || p.is_for_no_larger_vectors)
    out += fmt::format("vectors of {} bytes{}\n", p.vector_bytes,
                       p.is_for_no_larger_vectors ? ", where none are larger" : "");
  for (const auto& [holds, line] : {std::pair(p.native, words::kNative),
                                    std::pair(p.multiplies_padding, words::kMultipliesPadding),
                                    std::pair(p.is_part, words::kPart)})
    if (holds) out += fmt::format("{}\n", line);
  body(p.body, 0, out);
  return out;
}

}  // namespace

std::string to_string(const LoopProgram& p) { return Printer(&p).program(p); }

std::string to_string(const Stmt& s, int indent) {
  std::string out;
  Printer().stmt(s, indent, out);
  return out;
}

std::string to_string(const Value& v) { return Printer().value(v).text; }

std::string to_string(const Conditions& c) { return Printer().conditions(c).text; }

}  // namespace mote
