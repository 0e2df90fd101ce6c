// SPDX-License-Identifier: Apache-2.0
// Writes loops that the threads of a block share: a thread takes every iteration whose number is
// its own plus a multiple of theirs. A step that is a simd loop moves 16 bytes at a time; the few
// iterations that do not fill one are taken one by one. mote_block_sum() and its like combine the
// threads' accumulators.
#include "block_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/dependence.h"
#include "kernel_writer.h"
#include "mote/base/error.h"
#include "schedule/combine.h"

namespace mote::emit {
namespace {

std::string_view block_function(ReduceOp op) {
  if (is_combined(op)) return name(op);
  throw InternalError(fmt::format("emit_cuda: a block cannot combine by {}", name(op)));
}

bool is_single(const Loop& l) { return l.begin == Expr(0) && l.end == Expr(1); }

bool is_mentioned(Symbol v, const Body& body) {
  bool found = false;
  for_each(body, [&](const Stmt& s) {
    for_each_expr(s, [&](const Expr& e) { found = found || e.mentions(v); });
  });
  return found;
}

}  // namespace

bool is_shared_within_block(const Loop& l) {
  if (is_within_block(l.kind)) return true;
  return std::ranges::any_of(loops_in(l.body),
                             [](const Loop* inner) { return is_shared_within_block(*inner); });
}

const Loop* simd_loop_of(const Loop& l) {
  const Loop* inner = l.body.size() == 1 ? as_loop(l.body.front()) : nullptr;
  const bool is_step = inner != nullptr && inner->kind == LoopKind::simd &&
                       inner->begin == Expr(l.variable) && l.step.constant();
  return is_step ? inner : nullptr;
}

void KernelWriter::block_loop(const Loop& l, const Facts& facts) {
  open_accumulators(l);
  if (l.kind != LoopKind::block_threads) {
    nest_loop(l, facts);
  } else if (is_single(l)) {
    line("if (threadIdx.x == 0) {");
    ++indent_;
    Facts inside = facts;
    inside.set_range(l.variable, l.begin, l.end);
    if (is_mentioned(l.variable, l.body))
      line(fmt::format("const int64_t {} = {};", names_.symbol(l.variable),
                       printer_.expr(l.begin, facts).text));
    body(l.body, inside);
    --indent_;
    line("}");
  } else {
    shared_loop(l, in_warps_ ? Share{"threadIdx.x % 32", "32"} : Share{"threadIdx.x", "blockDim.x"},
                facts);
  }
  combine(l);
}

/// Writes a loop around one that threads share: warps take its iterations, or all threads do.
void KernelWriter::nest_loop(const Loop& l, const Facts& facts) {
  const std::string& v = names_.symbol(l.variable);
  const bool by_warps = l.kind == LoopKind::warp;
  std::string begin = by_warps ? "threadIdx.x / 32" : "0";
  if (l.begin != Expr(0)) {
    const Text first = printer_.expr(l.begin, facts);
    begin = by_warps ? within(first, kSum) + " + " + begin : first.text;
  }
  const std::string end = limit(l.end, v + "_end", facts).text;
  std::string step = by_warps ? v + " += blockDim.x / 32" : v + "++";
  if (l.step != Expr(1)) step = fmt::format("{} += {}", v, printer_.expr(l.step, facts).text);
  line(fmt::format("for (int64_t {0} = {1}; {0} < {2}; {3}) {{", v, begin, end, step));
  Facts inside = facts;
  inside.set_range(l.variable, l.begin, l.end);
  ++indent_;
  const bool outside = std::exchange(in_warps_, in_warps_ || by_warps);
  body(l.body, inside);
  in_warps_ = outside;
  --indent_;
  line("}");
}

/// Writes the iterations of a loop that workers share: first its whole steps, if these are simd
/// loops, and then the rest one by one.
void KernelWriter::shared_loop(const Loop& l, const Share& share, const Facts& facts) {
  const Loop* simd = simd_loop_of(l);
  const Loop& each = simd != nullptr ? *simd : l;
  const std::string& v = names_.symbol(each.variable);
  const bool from_0 = l.begin == Expr(0);
  const std::string first = from_0 ? "" : names_.fresh(v + "_begin");
  if (!from_0)
    line(fmt::format("const int64_t {} = {};", first, printer_.expr(l.begin, facts).text));
  std::string begin = from_0 ? "" : first + " + ";
  const Text limit_text = limit(l.end, v + "_end", facts);
  const std::string& end = limit_text.text;
  Facts inside = facts;
  inside.set_range(each.variable, l.begin, l.end);
  if (simd != nullptr) {
    const std::int64_t elements = *l.step.constant();
    line(fmt::format("for (int64_t {0} = {1}{2} * {3}; {0} + {3} <= {4}; {0} += {5} * {3}) {{", v,
                     begin, share.who, elements, end, share.count));
    ++indent_;
    vector_accesses(each, elements, inside);
    --indent_;
    line("}");
    std::string count = within(limit_text, kUnary);
    if (!from_0) count = fmt::format("({} - {})", count, first);
    begin += fmt::format("{0} / {1} * {1} + ", count, elements);
  }
  line(fmt::format("for (int64_t {0} = {1}{2}; {0} < {3}; {0} += {4}) {{", v, begin, share.who, end,
                   share.count));
  ++indent_;
  body(each.body, inside);
  --indent_;
  line("}");
}

/// Writes the iterations of a simd loop from its variable on, which now is the first of them.
void KernelWriter::vector_accesses(const Loop& each, std::int64_t elements, const Facts& facts) {
  const auto vectors = cuda::vectors_of(p_, each);
  if (!vectors) throw InternalError(p_.name + ": a simd loop does more than access vectors");
  if (at_.empty()) names_.add_local(at_ = names_.fresh("at"));
  const Symbol at(SymbolKind::loop, at_);
  const std::map<Symbol, Expr> of_element = {{each.variable, Expr(each.variable) + Expr(at)}};
  std::vector<std::string> types, held, locations, conditions;
  std::map<std::string, int> numbers;
  for (const cuda::RowVector& vector : *vectors) {
    const TensorDecl& t = *find_tensor(p_, vector.tensor);
    const bool is_temporary = t.role == TensorRole::temporary;
    types.push_back(fmt::format("mote_vector<{}, {}>",
                                is_temporary ? local_type(t, p_.native) : storage_type(t.dtype),
                                elements));
    held.push_back(vector_name(vector.tensor, ++numbers[vector.tensor]));
    Facts under = facts;
    conditions.push_back(
        vector.conditions.empty()
            ? ""
            : fmt::format("if ({}) ", printer_.conditions(vector.conditions, under).text));
    locations.push_back("&" + printer_.element(t, vector.index, facts));
    const std::string load =
        fmt::format("{} = *(const {} *){};", held.back(), types.back(), locations.back());
    if (vector.is_read && vector.conditions.empty()) {
      line(fmt::format("{}{} {}", vector.is_stored ? "" : "const ", types.back(), load));
    } else {
      line(fmt::format("{} {};", types.back(), held.back()));
      if (vector.is_read) line(conditions.back() + load);
    }
  }
  for (std::size_t k = 0; k < vectors->size(); ++k) {
    std::vector<Expr> index = (*vectors)[k].index;
    for (Expr& e : index) e = e.substitute(of_element);
    printer_.hold((*vectors)[k].tensor, std::move(index), fmt::format("{}.of[{}]", held[k], at_));
  }
  out_ += "#pragma unroll\n";
  line(fmt::format("for (int {0} = 0; {0} < {1}; {0}++) {{", at_, elements));
  Facts of_one = facts;
  of_one.set_range(at, 0, elements);
  Body statements = each.body;
  substitute(statements, of_element);
  ++indent_;
  body(statements, of_one);
  --indent_;
  line("}");
  printer_.release_all();
  for (std::size_t k = 0; k < vectors->size(); ++k)
    if ((*vectors)[k].is_stored)
      line(fmt::format("{}*({} *){} = {};", conditions[k], types[k], locations[k], held[k]));
}

/// Returns the name of the variable that holds elements of the tensor, the `number`th in its loop.
const std::string& KernelWriter::vector_name(const std::string& tensor, int number) {
  std::string& name = vectors_[{tensor, number}];
  if (name.empty())
    name = names_.fresh(fmt::format("{}_vector{}", names_.tensor(tensor),
                                    number == 1 ? "" : std::to_string(number)));
  return name;
}

void KernelWriter::combine(const Loop& l) {
  for (const Accumulator& a : l.accumulators) {
    const bool in_float = type_of_local(a.dtype, p_.native) == CType::f32;
    const Text own{names_.local(a.name)};
    line(fmt::format("{} = {};", own.text,
                     call(fmt::format("mote_block_{}{}", block_function(a.op), in_float ? "f" : ""),
                          own, printer_.uses())));
  }
}

}  // namespace mote::emit
