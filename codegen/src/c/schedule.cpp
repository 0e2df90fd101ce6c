// SPDX-License-Identifier: Apache-2.0
// The parts of C that only scheduled loops have: OpenMP's pragmas under a guard, temporaries of one
// iteration, and strides as constants.
#include <fmt/format.h>

#include <algorithm>

#include "c/writer.h"
#include "ir/dependence.h"
#include "ir/references.h"
#include "mote/base/error.h"
#include "schedule/combine.h"
#include "schedule/iterations.h"

namespace mote::emit {
namespace {

constexpr std::int64_t kLargestOnStack = 4096;

/// Returns the name of a reduction in OpenMP's clauses; mote_maxf and its like are declared among
/// the helpers.
std::string reduction(ReduceOp op, DType dtype) {
  if (!is_combined(op)) throw InternalError(fmt::format("emit_c: no lanes for {}", name(op)));
  if (op == ReduceOp::sum || op == ReduceOp::prod) return op == ReduceOp::sum ? "+" : "*";
  if (is_integer(dtype)) return std::string(name(op));
  return fmt::format("mote_{}{}", name(op), is_in_float(dtype) ? "f" : "");
}

/// Returns true if a branch may leave out a store to the tensor.
bool is_stored_in_branch(const LoopProgram& p, const TensorDecl& t) {
  return std::ranges::any_of(references(p.body, t.name), [](const TensorReference& r) {
    return r.is_write() && std::ranges::any_of(r.path, [](const Stmt* s) {
             return std::holds_alternative<If>(s->kind);
           });
  });
}

}  // namespace

std::vector<const Loop*> loops_in(const Body& b) {
  std::vector<const Loop*> all;
  for (const Stmt& s : b) {
    if (const auto* loop = std::get_if<Loop>(&s.kind)) all.push_back(loop);
    if (const auto* branch = std::get_if<If>(&s.kind))
      for (const Loop* loop : loops_in(branch->body)) all.push_back(loop);
  }
  return all;
}

std::optional<std::int64_t> stack_size(const TensorDecl& t) {
  std::int64_t count = 1;
  for (const Expr& e : t.shape) {
    const auto extent = e.constant();
    if (!extent || *extent < 1 || *extent > kLargestOnStack) return std::nullopt;
    count *= *extent;
    if (count > kLargestOnStack) return std::nullopt;
  }
  return count;
}

/// Writes a pragma alone on its line, whatever its length.
void Writer::pragma(const std::string& text) {
  out_ += "#ifdef _OPENMP\n#pragma omp " + text + "\n#endif\n";
}

std::string Writer::lanes(const Loop& l) {
  std::vector<std::pair<std::string, std::string>> folded;
  for_each(l.body, [&](const Stmt& s) {
    const auto* fold = std::get_if<Fold>(&s.kind);
    if (fold == nullptr) return;
    std::pair one(reduction(fold->op, fold->value->dtype), names_.local(fold->accumulator));
    if (std::ranges::find(folded, one) == folded.end()) folded.push_back(std::move(one));
  });
  std::string out;
  for (const auto& [op, name] : folded) {
    printer_.uses().call("reduction " + op);
    out += fmt::format(" reduction({} : {})", op, name);
  }
  return out;
}

/// Returns the loops over parts of the loop if threads had better take large parts: all that a
/// short part repeats is run again for it.
std::vector<const Loop*> Writer::merged_parts(const Loop& first) const {
  std::vector<const Loop*> merged;
  const auto holds_more = [](const Loop& l) {
    return std::ranges::any_of(l.body, [](const Stmt& s) {
      return as_loop(s) != nullptr && holds_loop(as_loop(s)->body);
    });
  };
  for_each(p_.body, [&](const Stmt& s) {
    if (as_loop(s) == &first && first.step != Expr(1) && holds_more(first))
      merged = mergeable_parts(p_, s);
  });
  return merged;
}

/// Declares the size of a part, and returns its name.
std::string Writer::part_of(const Loop& first, const Facts& facts) {
  const std::string name = names_.fresh("part");
  const std::string all = printer_.expr(first.end - first.begin, facts).text;
  const std::string least = printer_.expr(first.step, facts).text;
  line(fmt::format("const int64_t {} = {};", name,
                   call("mote_part", {all}, {least}, printer_.uses())));
  return name;
}

/// Declares the end of a part, which is that of the loops over it.
void Writer::end_of_part(const Loop& first, const std::string& part,
                         const std::vector<const Loop*>& merged, const Facts& facts) {
  const std::string name = names_.fresh(names_.symbol(first.variable) + "_end");
  const std::string own_end = names_.symbol(first.variable) + " + " + part;
  line(fmt::format("const int64_t {} = {};", name,
                   call("mote_imin", {own_end}, printer_.expr(first.end, facts), printer_.uses())));
  for (const Loop* l : merged) limits_[&l->end] = {name};
}

void Writer::threads_loops(const Loop& first, const Facts& facts) {
  std::set<Symbol> changing = {first.variable};
  limits_ahead(first.body, changing, facts);
  const std::vector<const Loop*> chain = threads_chain(first);
  const std::vector<const Loop*> merged = merged_parts(first);
  const std::string part = merged.empty() ? "" : part_of(first, facts);
  std::vector<std::string> heads;
  Facts inside = facts;
  for (const Loop* l : chain) {
    const std::string& v = names_.symbol(l->variable);
    const std::string begin = limit(l->begin, v + "_begin", inside).text;
    const std::string end = limit(l->end, v + "_end", inside).text;
    const std::string step =
        l->step == Expr(1)
            ? v + "++"
            : fmt::format(
                  "{} += {}", v,
                  l == &first && !part.empty() ? part : printer_.expr(l->step, inside).text);
    heads.push_back(fmt::format("for (int64_t {0} = {1}; {0} < {2}; {3}) {{", v, begin, end, step));
    inside.set_range(l->variable, l->begin, l->end);
  }
  const std::string collapse =
      chain.size() > 1 ? fmt::format(" collapse({})", chain.size()) : std::string();
  if (in_region_) {
    pragma(fmt::format("for{}{}", collapse, &first == as_loop(p_.body.back()) ? " nowait" : ""));
  } else {
    const std::string work = names_.fresh("work");
    out_ += "#ifdef _OPENMP\n";
    line(fmt::format("const int64_t {} = {};", work, printer_.expr(first.work, facts).text));
    out_ += fmt::format("#pragma omp parallel for{} if ({} > MOTE_PARALLEL_ABOVE)\n#endif\n",
                        collapse, work);
  }
  for (const std::string& head : heads) {
    line(head);
    ++indent_;
  }
  open_scope(chain.back()->variable, inside);
  if (!merged.empty()) end_of_part(first, part, merged, inside);
  body(chain.back()->body, inside);
  for (std::size_t k = 0; k < heads.size(); ++k) {
    --indent_;
    line("}");
  }
}

void Writer::open_scope(Symbol variable, const Facts& facts) {
  for (const TensorDecl& t : p_.tensors) {
    if (t.per != variable) continue;
    if (t.shape.empty()) {
      if (!declared_.contains(t.name)) line(scalar(t));
      continue;
    }
    if (t.memory == TensorMemory::registers) {
      declare_registers(t);
      continue;
    }
    if (is_of_block(t.memory)) {
      declare_of_block(t);
      continue;
    }
    const std::string type = local_type(t, p_.native);
    if (is_on_stack(t)) {
      // Compilers don't see that a branch leaves out reads with the stores, nor that loops over one
      // element fill it.
      const bool seems_unset =
          *stack_size(t) == 1 || (p_.vector_bytes != 0 && is_stored_in_branch(p_, t));
      line(fmt::format("{} {}[{}]{};", type, names_.tensor(t.name), *stack_size(t),
                       seems_unset ? " = {0}" : ""));
      continue;
    }
    std::string size;
    for (const Expr& e : t.shape) size += " * " + within(printer_.expr(e, facts), kUnary);
    printer_.uses().call("mote_thread");
    line(fmt::format("{} *const {} = {} + mote_thread(){};", type, names_.tensor(t.name),
                     printer_.read(names_.slab(t.name)), size));
  }
}

std::string Writer::scalar(const TensorDecl& t) const {
  const std::string type = local_type(t.dtype, p_.native);
  const char* zero = type == "float" ? "0.0f" : is_real(t.dtype) ? "0.0" : "0";
  return fmt::format("{} {} = {};", type, names_.tensor(t.name), zero);
}

const std::string& Writer::heap_name(const TensorDecl& t) const {
  return !t.per ? names_.tensor(t.name) : names_.slab(t.name);
}

std::string Writer::stride_definitions() const {
  std::map<std::string, std::string> lines;
  for (const TensorDecl& t : p_.tensors) {
    if (t.role == TensorRole::temporary) continue;
    for (std::size_t axis = 0; p_.native && axis < t.shape.size(); ++axis) {
      const std::string& stride = names_.stride(t.name, axis);
      if (printer_.uses().reads(stride))
        lines[t.name] += fmt::format("  const int64_t {} = {}[{}];\n", stride,
                                     printer_.read(names_.strides(t.name)), axis);
    }
  }
  std::string out;
  for (const auto& [tensor, text] : lines) out += text;
  return out;
}

}  // namespace mote::emit
