// SPDX-License-Identifier: Apache-2.0
// Writes the versions of a schedule as C: a function for each, one that chooses among them by the
// sizes and strides of a call, and one that opens a region of threads.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "c/writer.h"
#include "ir/dependence.h"
#include "mote/codegen/schedule.h"
#include "passes/conditions.h"
#include "passes/leave_out.h"
#include "schedule/iterations.h"

namespace mote::emit {
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
