// SPDX-License-Identifier: Apache-2.0
// Chooses the identifiers of the emitted C. In: a loop program; out: for every tensor, size,
// parameter, loop variable and local a C identifier that is no keyword, no name of the headers that
// the C includes and not in use yet. Names are given in the order of the signature, then of the
// body.
#include <algorithm>
#include <array>
#include <string_view>

#include "c/internal.h"
#include "mote/base/characters.h"
#include "mote/base/error.h"
#include "passes/leave_out.h"

namespace mote::emit {
namespace {

// Keywords, and what <math.h>, <stdint.h>, <stdlib.h>, <stdbool.h> and the thunk declare. `gamma`
// is left out on purpose: it is no part of C11's <math.h>, and normalisations have it.
constexpr std::array kReserved = std::to_array<std::string_view>({"auto",        "break",
                                                                  "case",        "char",
                                                                  "const",       "continue",
                                                                  "default",     "do",
                                                                  "double",      "else",
                                                                  "enum",        "extern",
                                                                  "float",       "for",
                                                                  "goto",        "if",
                                                                  "inline",      "int",
                                                                  "long",        "register",
                                                                  "restrict",    "return",
                                                                  "short",       "signed",
                                                                  "sizeof",      "static",
                                                                  "struct",      "switch",
                                                                  "typedef",     "union",
                                                                  "unsigned",    "void",
                                                                  "volatile",    "while",
                                                                  "asm",         "typeof",
                                                                  "bool",        "true",
                                                                  "false",       "complex",
                                                                  "imaginary",   "I",
                                                                  "NULL",        "NAN",
                                                                  "INFINITY",    "HUGE_VAL",
                                                                  "linux",       "unix",
                                                                  "acos",        "acosh",
                                                                  "asin",        "asinh",
                                                                  "atan",        "atan2",
                                                                  "atanh",       "cbrt",
                                                                  "ceil",        "copysign",
                                                                  "cos",         "cosh",
                                                                  "erf",         "erfc",
                                                                  "exp",         "exp2",
                                                                  "expm1",       "fabs",
                                                                  "fdim",        "floor",
                                                                  "fma",         "fmax",
                                                                  "fmin",        "fmod",
                                                                  "frexp",       "hypot",
                                                                  "ilogb",       "ldexp",
                                                                  "lgamma",      "llrint",
                                                                  "llround",     "log",
                                                                  "log10",       "log1p",
                                                                  "log2",        "logb",
                                                                  "lrint",       "lround",
                                                                  "modf",        "nan",
                                                                  "nearbyint",   "nextafter",
                                                                  "nexttoward",  "pow",
                                                                  "remainder",   "remquo",
                                                                  "rint",        "round",
                                                                  "scalbln",     "scalbn",
                                                                  "sin",         "sinh",
                                                                  "sqrt",        "tan",
                                                                  "tanh",        "tgamma",
                                                                  "trunc",       "j0",
                                                                  "j1",          "jn",
                                                                  "y0",          "y1",
                                                                  "yn",          "fpclassify",
                                                                  "isfinite",    "isgreater",
                                                                  "isinf",       "isless",
                                                                  "isnan",       "isnormal",
                                                                  "isunordered", "signbit",
                                                                  "signgam",     "isgreaterequal",
                                                                  "islessequal", "islessgreater",
                                                                  "abort",       "abs",
                                                                  "atexit",      "atof",
                                                                  "atoi",        "atol",
                                                                  "calloc",      "div",
                                                                  "exit",        "free",
                                                                  "getenv",      "labs",
                                                                  "ldiv",        "llabs",
                                                                  "lldiv",       "malloc",
                                                                  "qsort",       "rand",
                                                                  "realloc",     "srand",
                                                                  "strtod",      "strtol",
                                                                  "system",      "size_t",
                                                                  "wchar_t",     "main",
                                                                  "call",        "run",
                                                                  "stream",      "thunk",
                                                                  "float_t",     "double_t",
                                                                  "offsetof",    "ptrdiff_t",
                                                                  "intptr_t",    "uintptr_t",
                                                                  "intmax_t",    "uintmax_t"});

/// Returns true for names that stay reserved with any suffix.
bool has_reserved_prefix(const std::string& name) {
  for (const char* prefix : {"mote_", "_", "FP_", "MATH_", "MOTE_", "EXIT_", "M_", "INT", "UINT"})
    if (name.starts_with(prefix)) return true;
  return false;
}

/// Returns true for reserved names. Functions of <math.h> have variants for float and long double,
/// such as sinf and sinl.
bool is_reserved(std::string_view name) {
  const bool header_type =
      (name.starts_with("int") || name.starts_with("uint")) && name.ends_with("_t");
  const auto is_listed = [](std::string_view word) {
    return std::ranges::find(kReserved, word) != kReserved.end();
  };
  return header_type || name.ends_with("_MAX") || name.ends_with("_MIN") || is_listed(name) ||
         ((name.ends_with('f') || name.ends_with('l')) &&
          is_listed(name.substr(0, name.size() - 1)));
}

std::string identifier(const std::string& hint) {
  std::string out = hint;
  for (char& c : out)
    if (!is_word(c)) c = '_';
  const bool opens_badly = out.empty() || is_digit(out[0]);
  return opens_badly || has_reserved_prefix(out) ? "v" + out : out;
}

}  // namespace

std::string Names::fresh(const std::string& hint) {
  std::string name = identifier(hint);
  while (is_reserved(name) || taken_.contains(name)) name += '_';
  taken_.insert(name);
  return name;
}

void Names::add(const char* kind, const std::string& name, const std::string& hint) {
  if (names_.contains({kind, name})) return;
  names_[{kind, name}] = fresh(hint);
}

const std::string& Names::at(const char* kind, const std::string& name) const {
  const auto found = names_.find({kind, name});
  if (found == names_.end())
    throw InternalError(std::string("emit_c: unknown ") + kind + " " + name);
  return found->second;
}

const std::string& Names::symbol(Symbol s) const {
  switch (s.kind()) {
    case SymbolKind::loop:
      return local(s.name());
    case SymbolKind::size:
      return size(s.name());
    default:
      return param(s.name());
  }
}

/// Adds a loop variable. One named n2, because the program has an n, becomes n if no loop over n
/// encloses it.
void Names::add_variable(const std::string& name, const std::set<std::string>& enclosing) {
  const std::string stem = name.substr(0, name.find_last_not_of("0123456789") + 1);
  if (stem != name && variables_.contains(stem) && !enclosing.contains(local(stem))) {
    names_[{"local", name}] = local(stem);
  } else {
    add("local", name, name);
  }
  variables_.insert(name);
}

void Names::add_locals(const Body& body, const std::set<std::string>& enclosing) {
  for (const Stmt& s : body) {
    if (const auto* loop = std::get_if<Loop>(&s.kind)) {
      add_variable(loop->variable.name(), enclosing);
      for (const Accumulator& a : loop->accumulators) {
        add("local", a.name, a.name);
        if (a.op == ReduceOp::argmax || a.op == ReduceOp::argmin)
          add("position", a.name, a.name + "_at");
      }
      std::set<std::string> inside = enclosing;
      inside.insert(local(loop->variable.name()));
      for (const LoopDigit& d : loop->digits) {
        add_variable(d.variable.name(), enclosing);
        inside.insert(local(d.variable.name()));
      }
      add_locals(loop->body, inside);
    } else if (const auto* branch = std::get_if<If>(&s.kind)) {
      add_locals(branch->body, enclosing);
    } else if (const auto* let = std::get_if<Let>(&s.kind)) {
      add("local", let->name, let->name);
    }
  }
}

Names::Names(const LoopProgram& p) {
  if (!p.source) throw InternalError("emit_c: " + p.name + " has no source program");
  for (const TensorDecl& t : p.tensors)
    if (t.role != TensorRole::temporary) add("tensor", t.name, t.name);
  for (const SizeRule& rule : p.source->size_rules) add("size", rule.size.name(), rule.size.name());
  for (const ParamDecl& param : p.source->params) add("param", param.name, param.name);
  for (const TensorDecl& t : p.tensors)
    if (t.role != TensorRole::temporary) add("strides", t.name, "s" + tensor(t.name));
  for (const TensorDecl& t : p.tensors)
    for (std::size_t k = 0; p.native && t.role != TensorRole::temporary && k < t.shape.size(); ++k)
      add("stride", t.name + "/" + std::to_string(k), strides(t.name) + std::to_string(k));
  for (const NamedSize& s : p.source->sizes) add("size", s.name, s.name);
  for (const TensorDecl& t : p.tensors)
    if (t.role == TensorRole::output && p.source->outputs.size() > 1)
      add("param", wanted(t.name).name(), "wants_" + t.name);
  for (const TensorDecl& t : p.tensors) add("tensor", t.name, t.name);
  for (const TensorDecl& t : p.tensors)
    if (t.per && !t.shape.empty()) add("slab", t.name, tensor(t.name) + "_all");
  for (const TensorDecl& t : p.tensors)
    for (std::size_t k = 2; t.ordered_like && k > 0; --k)
      add("stride", t.name + "/" + std::to_string(t.shape.size() - k),
          "s" + tensor(t.name) + std::to_string(t.shape.size() - k));
  add_locals(p.body, {});
}

}  // namespace mote::emit
