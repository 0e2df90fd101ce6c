// SPDX-License-Identifier: Apache-2.0
// The parts of C that only schedules have: OpenMP's pragmas under a guard, temporaries of one
// iteration, strides as constants, a function that chooses among versions, and one that opens a
// region of threads.
#include "mote/codegen/schedule.h"

#include <fmt/format.h>

#include <algorithm>

#include "c/writer.h"
#include "ir/dependence.h"
#include "ir/references.h"
#include "mote/base/error.h"
#include "passes/conditions.h"
#include "passes/leave_out.h"
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

namespace {

/// Returns the text, if it is for processors with vectors of some size, under that condition.
std::string where_compiled(const LoopProgram& p, const std::string& text) {
  if (p.vector_bytes == 0) return text;
  return fmt::format("#if MOTE_VECTOR_BYTES {} {}\n{}#endif\n",
                     p.is_for_no_larger_vectors ? "==" : ">=", p.vector_bytes, text);
}

/// Returns the test whether a call has the stride, or none of the outputs that need the tensor.
std::string stride_test(const LoopProgram& p, const KnownStride& k, const Names& names,
                        const std::vector<std::string>& optional_outputs) {
  const std::string test = fmt::format("{}[{}] == {}", names.strides(k.tensor), k.axis, k.stride);
  const std::vector<std::string> outputs = outputs_needing(p, k.tensor, optional_outputs);
  std::string none;
  for (const std::string& output : outputs)
    none += fmt::format("{}{} == NULL", none.empty() ? "" : " && ", names.tensor(output));
  if (outputs.empty()) return test;
  if (outputs.size() > 1) none = "(" + none + ")";
  return fmt::format("({} || {})", test, none);
}

/// Returns `if (sx[1] == 1 && …) return f(…);`, for calls that satisfy these conditions.
std::string choice(const Version& v, const Conditions& sizes, const Names& names,
                   const std::string& function, const std::vector<std::string>& optional_outputs,
                   std::set<std::string>& calls) {
  std::string test;
  for (const KnownStride& k : v.program.strides)
    test += (test.empty() ? "" : " && ") + stride_test(v.program, k, names, optional_outputs);
  if (!sizes.empty()) {
    Printer printer(v.program, names);
    printer.limit_sizes(0);
    Facts facts = base_facts(*v.program.source);
    test += (test.empty() ? "" : " && ") + printer.conditions(sizes, facts).text;
    printer.uses().add_functions_to(calls);
  }
  return where_compiled(v.program, wrap(fmt::format("  if ({})", test)) + "\n" +
                                       wrap(fmt::format("    return {}({});", function,
                                                        argument_names(v.program, names))) +
                                       "\n");
}

/// Returns true if the statement has the same effect whenever it is run: it reads no element that
/// another thread may have overwritten by then, also in place.
bool is_still(const Stmt& s, const LoopProgram& p) {
  return std::ranges::all_of(accesses(s), [&](const Access& a) {
    const TensorDecl* t = find_tensor(p, a.tensor);
    return t == nullptr || (t->role == TensorRole::temporary && t->shape.empty());
  });
}

/// Returns true if all threads of a region may run every statement: one that is no loop which they
/// share gives a value to a variable that each of them has.
bool can_join(const Body& body, const LoopProgram& p) {
  return std::ranges::all_of(body, [&](const Stmt& s) {
    if (const Loop* first = as_loop(s))
      return first->kind == LoopKind::threads &&
             std::ranges::all_of(threads_chain(*first), [](const Loop* l) {
               return !l->begin.has_load() && !l->end.has_load() && !l->step.has_load();
             });
    if (const auto* branch = std::get_if<If>(&s.kind))
      return std::ranges::none_of(branch->conditions,
                                  [](const Condition& c) { return c.e.has_load(); }) &&
             can_join(branch->body, p);
    return is_still(s, p);
  });
}

/// Returns true if one region of threads can hold the whole function: it allocates nothing.
bool can_join(const LoopProgram& p) {
  const auto is_on_stack = [](const TensorDecl& t) {
    return t.role != TensorRole::temporary || t.shape.empty() ||
           t.memory == TensorMemory::registers || (t.per && stack_size(t));
  };
  return std::ranges::all_of(p.tensors, is_on_stack) && can_join(p.body, p);
}

Expr shared_work(const Body& body) {
  Expr work = 0;
  for (const Stmt& s : body) {
    const Loop* loop = as_loop(s);
    if (loop != nullptr)
      work = work + loop->work;
    else if (const Body* branch = nested_body(s))
      work = work + shared_work(*branch);
  }
  return work;
}

/// Returns the function that has all iterations run, by threads where they are many. A region costs
/// a third of a microsecond even with one thread, so small calls enter none; where the caller is in
/// one, its threads must not share the iterations.
std::string region_text(const LoopProgram& p, const std::string& function,
                        const std::string& iterations, const EmitOptions& options,
                        std::set<std::string>& calls) {
  Names names(p);
  Printer printer(p, names);
  const Facts facts = base_facts(*p.source);
  const std::string work = names.fresh("work");
  const std::string amount = printer.expr(shared_work(p.body), facts).text;
  const std::string call = fmt::format("{}({})", iterations, argument_names(p, names));
  std::string out = header_comment(p, printer, options.nullable) + signature(p, names, function) +
                    " {\n" + options.opening;
  out += "#ifdef _OPENMP\n" + size_definitions(printer, facts);
  out += wrap(fmt::format("  const int64_t {} = {};", work, amount)) + "\n";
  out += fmt::format("  if ({} > MOTE_PARALLEL_ABOVE || omp_get_level() > 0) {{\n", work);
  out += fmt::format("#pragma omp parallel if ({} > MOTE_PARALLEL_ABOVE)\n", work);
  out += wrap("    " + call + ";") + "\n    return 0;\n  }\n#endif\n";
  printer.uses().add_functions_to(calls);
  return out + wrap("  return " + call + ";") + "\n}\n";
}

/// Returns the function that makes the choices among versions, and calls `otherwise` for all other
/// calls. `head` stands before its signature.
std::string choosing_text(const std::string& head, const LoopProgram& p,
                          const std::string& function, const std::string& opening,
                          const std::string& choices, const std::string& otherwise) {
  const Names names(p);
  const std::string call = fmt::format("  return {}({});", otherwise, argument_names(p, names));
  return head + signature(p, names, function) + " {\n" + opening + choices + wrap(call) + "\n}\n";
}

struct VersionText {
  std::string head;  ///< before the signature
  std::string function;
  std::string opening;
  bool joins_region = false;
};

std::string text_of(const LoopProgram& p, const VersionText& how, std::set<std::string>& calls) {
  Names names(p);
  Printer printer(p, names);
  Writer writer(p, names, printer);
  if (how.joins_region) writer.join_region();
  const std::string body = writer.function_body();
  printer.uses().add_functions_to(calls);
  if (p.vector_bytes != 0) calls.insert("MOTE_VECTOR_BYTES");
  return where_compiled(
      p, how.head + signature(p, names, how.function) + " {\n" + how.opening + body + "}\n");
}

std::string comment_of(const LoopProgram& p, const EmitOptions& options) {
  const Names names(p);
  return header_comment(p, Printer(p, names), options.nullable);
}

/// Returns the versions as static functions; the function itself stands behind them, with the
/// choice among them, or is the only version. The version for all other calls is compiled for its
/// size.
std::string schedule_text(const Schedule& s, const EmitOptions& options,
                          std::set<std::string>& calls) {
  std::vector<LoopProgram> programs;
  for (const Version& v : s.versions)
    programs.push_back(leave_out(v.program, options.optional_outputs));
  const LoopProgram& last = programs.back();
  const std::string function = function_name(last, options);
  const bool joins =
      options.otherwise.empty() &&
      std::ranges::all_of(programs, [](const LoopProgram& p) { return can_join(p); });
  std::string out;
  std::string choices;
  std::string behind_next, less_preferred;
  for (std::size_t k = 0; k + 1 < programs.size(); ++k) {
    const Version& v = s.versions[k];
    const std::string own = function + "_" + v.name;
    const char* head = has_step(v, StepKind::registers) ? "static MOTE_PEELED\n" : "static ";
    out += text_of(programs[k], {head, own, "", joins}, calls) + "\n";
    if (has_step(v, StepKind::inward) && v.preferences.empty())
      choices += std::exchange(less_preferred, "");
    const Names names(programs[k]);
    const auto choice_where = [&](const Conditions& preferences) {
      return choice(v, both(v.program.demands, preferences), names, own, options.optional_outputs,
                    calls);
    };
    if (!v.preferences.empty()) less_preferred += choice_where({});
    choices += choice_where(v.preferences) + behind_next;
    behind_next = v.preferences_behind_next ? choice_where(*v.preferences_behind_next) : "";
  }
  choices += behind_next + less_preferred;
  if (!options.otherwise.empty())
    return out + signature(last, Names(last), options.otherwise) + ";\n" +
           choosing_text("", last, function, options.opening, choices, options.otherwise);
  const std::string head = joins ? "static " : comment_of(last, options);
  const std::string chooser = joins ? function + "_iterations" : function;
  const std::string opening = joins ? "" : options.opening;
  if (programs.size() == 1)
    out += text_of(last, {head, chooser, opening, joins}, calls);
  else
    out += text_of(last, {"static MOTE_COLD\n", function + "_any", "", joins}, calls) + "\n" +
           choosing_text(head, last, chooser, opening, choices, function + "_any");
  return joins ? out + "\n" + region_text(last, function, chooser, options, calls) : out;
}

}  // namespace
}  // namespace mote::emit

namespace mote {

std::string emit_c_dispatch(const LoopProgram& p, const EmitOptions& options,
                            const std::vector<std::pair<int, std::string>>& levels,
                            const std::string& elsewhere) {
  const emit::Names names(p);
  std::string declarations;
  std::string calls;
  const auto add = [&](const std::string& condition, const std::string& test,
                       const std::string& function) {
    const std::string guard = condition.empty() ? "" : "#if " + condition + "\n";
    const std::string end = condition.empty() ? "" : "#endif\n";
    const std::string call = emit::wrap(
        fmt::format("  {}return {}({});", test, function, emit::argument_names(p, names)));
    declarations += fmt::format("{}{};\n{}", guard, emit::signature(p, names, function), end);
    calls += fmt::format("{}{}\n{}", guard, call, end);
  };
  for (const auto& [level, function] : levels) {
    if (level > 0)
      add("defined(MOTE_X86_LEVELS)", fmt::format("if (mote_level() >= {}) ", level), function);
    else if (function == elsewhere)
      add("", "", function);
    else {
      add("defined(MOTE_ONE_LEVEL)", "", elsewhere);
      add("!defined(MOTE_ONE_LEVEL)", "", function);
    }
  }
  return declarations + emit::signature(p, names, emit::function_name(p, options)) + " {\n" +
         calls + "}\n";
}

std::string emit_c(const Schedule& s, const EmitOptions& options) {
  std::set<std::string> calls;
  const std::string text = emit::schedule_text(s, options, calls);
  return emit::with_helpers(text, calls, emit_c_gen_includes(), options);
}

}  // namespace mote
