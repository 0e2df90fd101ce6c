// SPDX-License-Identifier: Apache-2.0
// Emits loop programs as C11, with one readable function for each kernel. In: a program that
// verify() accepts; out: text that compiles without a warning under -Wall -Wextra -Wconversion.
#include "mote/codegen/emit_c.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "c/writer.h"
#include "mote/base/error.h"
#include "mote/codegen/generated_by.h"
#include "passes/leave_out.h"

namespace mote {
namespace emit {
namespace {

constexpr std::size_t kColumns = 100;

/// Returns the rank of a line break after text[0..at), of which a lower one is better; nullopt: no
/// line may end there.
std::optional<int> break_class(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const std::string_view after = text.substr(at + 1);
  if (after.starts_with("? ") || after.starts_with(": ")) return 1;
  constexpr std::array<std::pair<std::string_view, int>, 20> kEnds = {{{",", 1},
                                                                       {";", 1},
                                                                       {" ||", 2},
                                                                       {" &&", 3},
                                                                       {" <", 4},
                                                                       {" >", 4},
                                                                       {" <=", 4},
                                                                       {" >=", 4},
                                                                       {" ==", 4},
                                                                       {" !=", 4},
                                                                       {" +", 5},
                                                                       {" -", 5},
                                                                       {" *", 6},
                                                                       {" /", 6},
                                                                       {" %", 6},
                                                                       {" =", 0},
                                                                       {" +=", 0},
                                                                       {" *=", 0}}};
  for (const auto& [end, rank] : kEnds)
    if (!end.empty() && before.ends_with(end)) return rank;
  return std::nullopt;
}

/// Returns the last of the best positions at which the line may end, 0 if there is none.
std::size_t break_point(const std::string& line, std::size_t from) {
  const std::size_t margin = line.find_first_not_of(' ');
  std::size_t best = 0;
  std::pair<int, int> best_rank;
  int depth = 0;
  bool quoted = false;  // in a string, where no line may end
  for (std::size_t k = margin; k < line.size() && k <= kColumns; ++k) {
    if (line[k] == '\\' && quoted)
      ++k;
    else if (line[k] == '"')
      quoted = !quoted;
    if (quoted) continue;
    if (line[k] == '(' || line[k] == '[') ++depth;
    if (line[k] == ')' || line[k] == ']') --depth;
    if (line[k] != ' ') continue;
    const auto rank = break_class(line, k);
    if (!rank) continue;
    const bool rest_fits = margin + 4 + line.size() - k <= kColumns;
    if (*rank == 0 ? !rest_fits : k < from) continue;
    const std::pair<int, int> candidate = {depth, *rank};
    if (best != 0 && candidate > best_rank) continue;
    best = k;
    best_rank = candidate;
  }
  return best;
}

}  // namespace

std::string wrap(const std::string& line) {
  const std::size_t margin = line.find_first_not_of(' ');
  std::string out;
  std::string rest = line;
  while (rest.size() > kColumns) {
    const std::size_t at = break_point(rest, margin + 30);
    if (at == 0) break;
    out += rest.substr(0, at) + "\n";
    rest = std::string(margin + 4, ' ') + rest.substr(at + 1);
  }
  return out + rest;
}

std::string function_name(const LoopProgram& p, const EmitOptions& options) {
  if (!options.function.empty()) return options.function;
  std::string name = "mote_" + p.name;
  std::ranges::replace(name, '.', '_');
  return is_helper(name) ? name + "_op" : name;
}

std::vector<Argument> arguments(const LoopProgram& p) {
  std::vector<Argument> all;
  for (const TensorDecl& t : p.tensors)
    if (t.role != TensorRole::temporary) all.push_back({Argument::Kind::tensor, t.name});
  for (const SizeRule& rule : p.source->size_rules)
    all.push_back({Argument::Kind::size, rule.size.name()});
  for (const ParamDecl& param : p.source->params)
    all.push_back({Argument::Kind::param, param.name});
  return all;
}

std::string signature(const LoopProgram& p, const Names& names, const std::string& function) {
  std::vector<std::string> parts;
  for (const Argument& a : arguments(p)) {
    if (a.kind == Argument::Kind::size) {
      parts.push_back("int64_t " + names.size(a.name));
    } else if (a.kind == Argument::Kind::param) {
      const ParamDecl& param =
          p.source->params[static_cast<std::size_t>(*find_param(*p.source, a.name))];
      parts.push_back((param.is_integer ? "int64_t " : "double ") + names.param(a.name));
    } else {
      const TensorDecl& t = *find_tensor(p, a.name);
      const char* access = t.role == TensorRole::input ? "const " : "";
      std::string part = access + storage_type(t.dtype) + " *" + names.tensor(t.name);
      if (!t.shape.empty())
        part += fmt::format(", const int64_t {}[{}]", names.strides(t.name), t.shape.size());
      parts.push_back(part);
    }
  }
  std::string out;
  std::string line = "int " + function + "(";
  const std::string margin(std::min<std::size_t>(line.size(), 40), ' ');
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::string piece = parts[k] + (k + 1 < parts.size() ? "," : ")");
    if (k > 0 && line.size() + 1 + piece.size() > kColumns - 2) {
      out += line + "\n";
      line = margin + piece;
    } else {
      line += (k > 0 ? " " : "") + piece;
    }
  }
  if (parts.empty()) line += "void)";
  return out + line;
}

std::vector<std::string> argument_types(const LoopProgram& p) {
  std::vector<std::string> types;
  for (const Argument& a : arguments(p)) {
    if (a.kind == Argument::Kind::size) {
      types.emplace_back("int64_t");
    } else if (a.kind == Argument::Kind::param) {
      const auto at = static_cast<std::size_t>(*find_param(*p.source, a.name));
      types.emplace_back(p.source->params[at].is_integer ? "int64_t" : "double");
    } else {
      const TensorDecl& t = *find_tensor(p, a.name);
      types.push_back((t.role == TensorRole::input ? "const " : "") + storage_type(t.dtype) + "*");
      if (!t.shape.empty()) types.emplace_back("const int64_t*");
    }
  }
  return types;
}

namespace {

std::string tensor_line(const TensorDecl& t, const Printer& printer,
                        const std::vector<std::string>& nullable) {
  const bool may_lack = std::ranges::find(nullable, t.name) != nullable.end();
  std::string shape;
  for (const Expr& e : t.shape) shape += (shape.empty() ? "" : ", ") + printer.shape_text(e);
  return fmt::format(" *   {} {}[{}]{}{}\n", printer.names().tensor(t.name), name(t.dtype), shape,
                     t.role == TensorRole::output ? ", written" : "",
                     may_lack ? ", or NULL where a call lacks it" : "");
}

std::string param_line(const ParamDecl& param, const Names& names) {
  std::string out = fmt::format(" *   {}", names.param(param.name));
  if (!param.meaning.empty()) out += ": " + param.meaning;
  std::string limits;
  const auto add = [&limits](const std::string& text) {
    limits += (limits.empty() ? "" : ", ") + text;
  };
  if (param.lower) add(fmt::format("at least {}", *param.lower));
  if (param.upper) add(fmt::format("at most {}", *param.upper));
  if (param.default_value) add(fmt::format("usually {}", *param.default_value));
  return out + (limits.empty() ? "" : " (" + limits + ")") + "\n";
}

}  // namespace

std::string comment_text(std::string text) {
  for (std::size_t at = text.find("*/"); at != std::string::npos; at = text.find("*/", at))
    text.insert(at + 1, " ");
  for (std::size_t at = text.find("/*"); at != std::string::npos; at = text.find("/*", at))
    text.insert(at + 1, " ");
  return text;
}

std::string comment_lines(const std::string& text) {
  std::string out;
  std::string line = " *";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (line.size() + 1 + end - at > kColumns) out += std::exchange(line, " *  ") + "\n";
    line += " " + text.substr(at, end - at);
    at = end + 1;
  }
  return out + line + "\n";
}

std::string argument_names(const LoopProgram& p, const Names& names) {
  std::string out;
  for (const Argument& a : arguments(p)) {
    if (!out.empty()) out += ", ";
    if (a.kind == Argument::Kind::size) {
      out += names.size(a.name);
    } else if (a.kind == Argument::Kind::param) {
      out += names.param(a.name);
    } else {
      out += names.tensor(a.name);
      if (!find_tensor(p, a.name)->shape.empty()) out += ", " + names.strides(a.name);
    }
  }
  return out;
}

std::string signature_comment(const LoopProgram& p, const Printer& printer,
                              const std::vector<std::string>& nullable) {
  const std::string& equation = p.source->equation;
  std::string body = comment_lines(equation.empty() ? p.name : p.name + ": " + equation) + " *\n";
  for (const TensorDecl& t : p.tensors)
    if (t.role != TensorRole::temporary) body += tensor_line(t, printer, nullable);
  for (const ParamDecl& param : p.source->params) body += param_line(param, printer.names());
  return body + " *\n";
}

namespace {

std::string strides_line(const LoopProgram& p) {
  const bool strided = std::ranges::any_of(p.tensors, [](const TensorDecl& t) {
    return t.role != TensorRole::temporary && !t.shape.empty();
  });
  return strided ? "Strides (s…) count elements. " : "";
}

std::string as_comment(const std::string& body) {
  return "/*" + comment_text(body).substr(2) + " */\n";
}

}  // namespace

std::string header_comment(const LoopProgram& p, const Printer& printer,
                           const std::vector<std::string>& nullable) {
  const bool allocates = std::ranges::any_of(p.tensors, [](const TensorDecl& t) {
    return t.role == TensorRole::temporary && !t.shape.empty();
  });
  return as_comment(
      signature_comment(p, printer, nullable) +
      comment_lines(strides_line(p) +
                    (allocates ? "Returns 0, or -1 when memory ran out." : "Returns 0.")) +
      " * " + kGeneratedByMote +
      (p.native ? ". Variant gen:\n * reals in their own dtype, sums in any order, integers in "
                  "wrapping 64-bit.\n"
                : ". Reference:\n"
                  " * reals in double, integers in wrapping 64-bit; compile with -ffp-contract=off "
                  "and\n"
                  " * -frounding-math, so that no product is fused into a sum and zeros keep their "
                  "signs.\n"));
}

namespace {

std::string function_text(const LoopProgram& all, const EmitOptions& options,
                          std::set<std::string>& calls) {
  const LoopProgram p = leave_out(all, options.optional_outputs);
  Names names(p);
  const std::string function = function_name(p, options);
  Printer printer(p, names);
  const std::string comment = header_comment(p, printer, options.nullable);
  Writer writer(p, names, printer);
  const std::string body = options.opening + writer.function_body();
  printer.uses().add_functions_to(calls);
  return comment + (options.thunk && options.gen.empty() ? "static " : "") +
         signature(p, names, function) + " {\n" + body + "}\n";
}

}  // namespace

std::string with_helpers(const std::string& text, const std::set<std::string>& calls,
                         const std::string& includes, const EmitOptions& options) {
  if (options.helpers != nullptr) options.helpers->insert(calls.begin(), calls.end());
  if (!options.standalone) return text;
  const std::string helpers = helpers_text(calls);
  return generated_head("One file that compiles alone") + includes + "\n" + helpers +
         (helpers.empty() ? "" : "\n") + text;
}

}  // namespace emit

std::string emit_c(const LoopProgram& p, const EmitOptions& options) {
  std::set<std::string> calls;
  std::string text = emit::function_text(p, options, calls);
  if (options.thunk) text += "\n" + emit::thunk(p, emit::Names(p), options, calls);
  return emit::with_helpers(text, calls, emit_c_includes(), options);
}

std::string emit_c_around(const LoopProgram& p, const EmitOptions& options) {
  const emit::Names names(p);
  const std::string comment = emit::as_comment(
      emit::signature_comment(p, emit::Printer(p, names), options.nullable) +
      emit::comment_lines(emit::strides_line(p) + "Returns 0; anything else is a failure."));
  return comment + emit_c_prototype(p, options) + "\n" + emit_c_thunk(p, options);
}

std::string emit_c_thunk(const LoopProgram& p, const EmitOptions& options) {
  std::set<std::string> calls;
  const std::string text = emit::thunk(p, emit::Names(p), options, calls);
  if (options.helpers != nullptr) options.helpers->insert(calls.begin(), calls.end());
  return text;
}

std::string emit_c_helpers(const std::set<std::string>& names) { return emit::helpers_text(names); }

std::vector<std::string> c_argument_types(const LoopProgram& p) { return emit::argument_types(p); }

std::string emit_c_includes() {
  return "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <stdlib.h>\n\n"
         "#ifdef __clang__\n#pragma STDC FP_CONTRACT OFF\n#endif\n";
}

std::string emit_c_prototype(const LoopProgram& p, const EmitOptions& options) {
  const std::string function = emit::function_name(p, options);
  return emit::signature(p, emit::Names(p), options.is_pointer ? "(*" + function + ")" : function) +
         ";\n";
}

}  // namespace mote
