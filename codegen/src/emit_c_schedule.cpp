// What a schedule adds to C: OpenMP's pragmas under a guard, temporaries of one round, strides as
// constants, and a function that chooses among versions.
#include <fmt/format.h>

#include <algorithm>

#include "emit_c_writer.h"
#include "leave_out.h"
#include "mote/base/error.h"
#include "mote/codegen/schedule.h"

namespace mote::emit {
namespace {

constexpr std::int64_t kLargestOnStack = 4096;

/// As OpenMP's reduction clause names it; mote_maxf and its like are declared beside the helpers.
std::string reduction(ReduceOp op, DType dtype) {
  const char* suffix = is_in_float(dtype) ? "f" : "";
  switch (op) {
    case ReduceOp::sum:
      return "+";
    case ReduceOp::prod:
      return "*";
    case ReduceOp::max:
      return fmt::format("mote_max{}", suffix);
    case ReduceOp::min:
      return fmt::format("mote_min{}", suffix);
    default:
      throw InternalError(fmt::format("emit_c: no lanes for {}", name(op)));
  }
}

}  // namespace

std::vector<const Loop*> parallel_chain(const Loop& first) {
  std::vector<const Loop*> chain = {&first};
  while (static_cast<int>(chain.size()) < first.parallel)
    chain.push_back(&std::get<Loop>(chain.back()->body.at(0).kind));
  return chain;
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

/// A pragma stands alone on its line, whatever its length.
void Writer::pragma(const std::string& text) {
  out_ += "#ifdef _OPENMP\n#pragma omp " + text + "\n#endif\n";
}

std::string Writer::lanes(const Loop& l) const {
  std::vector<std::pair<std::string, std::string>> folded;
  for_each(l.body, [&](const Stmt& s) {
    const auto* fold = std::get_if<Fold>(&s.kind);
    if (fold == nullptr) return;
    std::pair one(reduction(fold->op, fold->value->dtype), names_.local(fold->accumulator));
    if (std::ranges::find(folded, one) == folded.end()) folded.push_back(std::move(one));
  });
  std::string out;
  for (const auto& [op, name] : folded) out += fmt::format(" reduction({} : {})", op, name);
  return out;
}

void Writer::parallel_loops(const Loop& first, const Facts& facts) {
  const std::vector<const Loop*> chain = parallel_chain(first);
  std::vector<std::string> heads;
  Facts inside = facts;
  for (const Loop* l : chain) {
    const std::string& v = names_.symbol(l->variable);
    const std::string begin = limit(l->begin, v + "_begin", inside);
    const std::string end = limit(l->end, v + "_end", inside);
    const std::string step = l->step == Expr(1)
                                 ? v + "++"
                                 : fmt::format("{} += {}", v, printer_.expr(l->step, inside).text);
    heads.push_back(fmt::format("for (int64_t {0} = {1}; {0} < {2}; {3}) {{", v, begin, end, step));
    inside.set_range(l->variable, l->begin, l->end);
  }
  const std::string work = names_.fresh("work");
  const std::string collapse =
      chain.size() > 1 ? fmt::format(" collapse({})", chain.size()) : std::string();
  out_ += "#ifdef _OPENMP\n";
  line(fmt::format("const int64_t {} = {};", work, printer_.expr(first.work, facts).text));
  out_ += fmt::format("#pragma omp parallel for{} if ({} > MOTE_PARALLEL_ABOVE)\n#endif\n",
                      collapse, work);
  for (const std::string& head : heads) {
    line(head);
    ++indent_;
  }
  open_scope(chain.back()->variable, inside);
  body(chain.back()->body, inside);
  for (std::size_t k = 0; k < heads.size(); ++k) {
    --indent_;
    line("}");
  }
}

/// The temporaries of one round of a loop.
void Writer::open_scope(Symbol variable, const Facts& facts) {
  for (const TensorDecl& t : p_.tensors) {
    if (t.scope.empty() || t.scope != variable.name()) continue;
    if (t.shape.empty()) {
      if (!declared_.contains(t.name)) line(scalar(t));
      continue;
    }
    const std::string type = local_type(t.dtype, p_.native);
    if (const auto count = stack_size(t); count && target_ == Target::c) {
      line(fmt::format("{} {}[{}];", type, names_.tensor(t.name), *count));
      continue;
    }
    std::string size;
    for (const Expr& e : t.shape) size += " * " + within(printer_.expr(e, facts), kUnary);
    line(fmt::format("{} *const {} = {} + mote_thread(){};", type, names_.tensor(t.name),
                     names_.slab(t.name), size));
  }
}

std::string Writer::scalar(const TensorDecl& t) const {
  const std::string type = local_type(t.dtype, p_.native);
  const char* zero = type == "float" ? "0.0f" : is_real(t.dtype) ? "0.0" : "0";
  return fmt::format("{} {} = {};", type, names_.tensor(t.name), zero);
}

const std::string& Writer::heap_name(const TensorDecl& t) const {
  return t.scope.empty() ? names_.tensor(t.name) : names_.slab(t.name);
}

std::string Writer::stride_definitions() const {
  std::string out;
  for (const auto& [tensor, axis] : printer_.used_strides())
    out += fmt::format("  const int64_t {} = {}[{}];\n", names_.stride(tensor, axis),
                       names_.strides(tensor), axis);
  return out;
}

namespace {

/// `if (sx[1] == 1 && …) return f(…);`
std::string choice(const Version& v, const Names& names, const std::string& function) {
  std::string test;
  for (const KnownStride& k : v.program.strides)
    test += fmt::format("{}{}[{}] == {}", test.empty() ? "" : " && ", names.strides(k.tensor),
                        k.axis, k.stride);
  return wrap(fmt::format("  if ({})", test)) + "\n" +
         wrap(fmt::format("    return {}({});", function, argument_names(v.program, names))) + "\n";
}

/// Versions but the last as static functions; the last with the choice among them at its top.
std::string schedule_text(const Schedule& s, const EmitOptions& options) {
  const Version& last = s.versions.back();
  const std::string function = function_name(last.program, options);
  std::string out;
  std::string choices;
  for (const Version& v : s.versions) {
    const bool is_last = &v == &last;
    const std::string own = is_last ? function : function + "_" + v.name;
    const LoopProgram program = leave_out(v.program, options.optional_outputs);
    Names names(program);
    Printer printer(program, names);
    std::string comment;
    if (is_last) comment = header_comment(program, printer);
    Writer writer(program, names, printer);
    const std::string body = writer.function_body();
    if (is_last) out += comment;
    out += (is_last ? "" : "static ") + signature(v.program, names, own) + " {\n" +
           (is_last ? choices : "") + body + "}\n" + (is_last ? "" : "\n");
    choices += choice(v, names, own);
  }
  return out;
}

}  // namespace
}  // namespace mote::emit

namespace mote {

std::string emit_c_dispatch(const LoopProgram& p, const EmitOptions& options,
                            const std::vector<std::pair<int, std::string>>& levels) {
  const emit::Names names(p);
  std::string declarations;
  std::string calls;
  for (const auto& [level, function] : levels) {
    const std::string guard = level == 0 ? "" : "#ifdef MOTE_X86_LEVELS\n";
    const std::string end = level == 0 ? "" : "#endif\n";
    const std::string test = level == 0 ? "" : fmt::format("if (mote_level() >= {}) ", level);
    const std::string call = emit::wrap(
        fmt::format("  {}return {}({});", test, function, emit::argument_names(p, names)));
    declarations += fmt::format("{}{};\n{}", guard, emit::signature(p, names, function), end);
    calls += fmt::format("{}{}\n{}", guard, call, end);
  }
  return declarations + emit::signature(p, names, emit::function_name(p, options)) + " {\n" +
         calls + "}\n";
}

std::string emit_c(const Schedule& s, const EmitOptions& options) {
  const std::string text = emit::schedule_text(s, options);
  if (!options.standalone) return text;
  const std::string helpers = emit::helpers_for(text);
  return emit_c_fast_includes() + "\n" + helpers + (helpers.empty() ? "" : "\n") + text;
}

}  // namespace mote
