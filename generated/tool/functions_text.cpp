// SPDX-License-Identifier: Apache-2.0
// Writes the ops of the catalogue as functions of a dynamic graph's variables.
#include "functions_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <string_view>

#include "mote/codegen/generated_by.h"

namespace mote {
namespace {

/// Returns the op's name, with a _ behind it where it would be a word of C++ or hide the library.
std::string function_name(const std::string& op) {
  constexpr std::array<std::string_view, 3> kTaken{"std", "switch", "union"};
  return std::ranges::find(kTaken, op) == kTaken.end() ? op : op + "_";
}

/// Returns "Conv2dOptions" for conv2d.
std::string options_name(const std::string& op) {
  std::string text;
  bool is_first = true;
  for (const char c : op) {
    if (c != '_')
      text += is_first ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    is_first = c == '_';
  }
  return text + "Options";
}

/// Returns the text as a comment of lines that are not too long.
std::string comment(const std::string& text, const std::string& indent) {
  constexpr std::size_t kWidth = 96;
  std::string lines;
  std::string line = indent + "///";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (line.size() + 1 + (end - at) > kWidth) {
      lines += line + "\n";
      line = indent + "///";
    }
    line += " " + text.substr(at, end - at);
    at = end + 1;
  }
  return lines + line + "\n";
}

/// Returns before + the items between commas + after, in lines that are not too long.
std::string listed(const std::string& before, const std::vector<std::string>& items,
                   const std::string& after, const std::string& indent) {
  constexpr std::size_t kWidth = 96;
  std::string text;
  std::string line = before;
  for (std::size_t k = 0; k < items.size(); ++k) {
    const std::string item = items[k] + (k + 1 < items.size() ? "," : "");
    if (line.size() + item.size() + 1 > kWidth) {
      text += line + "\n";
      line = indent + item;
    } else {
      line += (k > 0 ? " " : "") + item;
    }
  }
  return text + line + after;
}

/// True if the op may be told the axis that it works along.
bool takes_axis(const Program& program) {
  if (program.inputs.empty()) return false;
  const auto rank = program.inputs.front().rank();
  return rank == 2 || rank == 3;
}

struct Function {
  const OpRecord& record;
  std::string name, options;
  std::size_t outputs;
  bool has_axis;
  std::vector<const ParamDecl*> required, others;

  explicit Function(const OpRecord& of) : record(of), name(function_name(of.name)) {
    const auto program = instantiate(of, {of.dtypes.front(), full_mask(of)});
    outputs = program->outputs.size();
    has_axis = takes_axis(*program);
    for (const ParamDecl& p : of.params) (p.default_value ? others : required).push_back(&p);
    if (has_axis || !others.empty()) options = options_name(of.name);
  }

  std::string struct_text() const {
    if (options.empty()) return "";
    std::string members;
    for (const ParamDecl* p : others)
      members += comment(p->meaning, "  ") +
                 fmt::format("  {} {} = {};\n", type(*p), p->name,
                             p->is_integer
                                 ? fmt::format("{}", static_cast<std::int64_t>(*p->default_value))
                                 : fmt::format("{}", *p->default_value));
    if (has_axis)
      members += "  /// the axis that it works along\n  std::optional<int> axis = std::nullopt;\n";
    return fmt::format("struct {} {{\n{}}};\n", options, members);
  }

  /// Writes the function of all inputs.
  std::string text() const {
    std::vector<std::string> inputs, settings;
    for (const InputDecl& input : record.inputs) inputs.push_back(input.name);
    for (const ParamDecl* p : required)
      settings.push_back(fmt::format("{{\"{0}\", {0}}}", p->name));
    for (const ParamDecl* p : others)
      settings.push_back(fmt::format("{{\"{0}\", options.{0}}}", p->name));
    const std::string command =
        settings.empty() && !has_axis
            ? fmt::format("  static const Command command(\"{}\");\n", record.name)
            : listed(fmt::format("  const Command command(\"{}\", {{", record.name), settings,
                     has_axis ? "}, options.axis);\n" : "});\n", "                        ");
    const std::string run = outputs == 1 ? "run" : fmt::format("run_each<{}>", outputs);
    return head(true) + command +
           listed(fmt::format("  return {}(command, {{", run), inputs, "});\n}\n", "      ");
  }

  /// Writes the function without the optional inputs.
  std::string short_text() const {
    std::vector<std::string> given;
    for (const InputDecl& input : record.inputs)
      given.push_back(input.optional ? "Variable()" : input.name);
    for (const ParamDecl* p : required) given.push_back(p->name);
    if (!options.empty()) given.emplace_back("options");
    return head(false) + listed(fmt::format("  return {}(", name), given, ");\n}\n", "      ");
  }

  std::string head(bool with_optional) const {
    std::vector<std::string> arguments;
    for (const InputDecl& input : record.inputs)
      if (with_optional || !input.optional) arguments.push_back("const Variable& " + input.name);
    for (const ParamDecl* p : required)
      arguments.push_back(fmt::format("{} {}", type(*p), p->name));
    if (!options.empty()) arguments.push_back(fmt::format("const {}& options = {{}}", options));
    const std::string result =
        outputs == 1 ? "Variable" : fmt::format("std::array<Variable, {}>", outputs);
    return listed(fmt::format("inline {} {}(", result, name), arguments, ") {\n", "    ");
  }

  static std::string_view type(const ParamDecl& p) {
    return p.is_integer ? "std::int64_t" : "double";
  }
};

}  // namespace

std::string functions_text(const std::vector<const OpRecord*>& records) {
  std::string text = generated_head("The ops as functions of variables") +
                     "#pragma once\n\n#include <array>\n#include <cstdint>\n#include <optional>\n\n"
                     "#include \"mote/dynamic/dynamic_graph.h\"\n\nnamespace mote {\n";
  for (const OpRecord* record : records) {
    if (record->name.find('.') != std::string::npos) continue;
    const Function function(*record);
    const bool has_optional = std::ranges::any_of(record->inputs, &InputDecl::optional);
    text += "\n" + function.struct_text() + comment(record->equation, "") + function.text();
    if (has_optional) text += function.short_text();
  }
  return text + "\n}  // namespace mote\n";
}

}  // namespace mote
