// `mote ops`: what there is, as a table, and everything about one op.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "mote/oracle/resolve.h"

namespace mote::tool {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string op;
  bool json = false;
};

template <typename Items, typename Text>
std::string joined(const Items& items, std::string_view separator, const Text& text) {
  std::vector<std::string> texts;
  texts.reserve(items.size());
  for (const auto& item : items) texts.emplace_back(text(item));
  return fmt::format("{}", fmt::join(texts, separator));
}

std::string dtype_names(const std::vector<DType>& dtypes) {
  return joined(dtypes, " ", [](DType t) { return std::string(name(t)); });
}

std::string input_names(const OpRecord& record) {
  return joined(record.inputs, " ",
                [](const InputDecl& i) { return i.optional ? "[" + i.name + "]" : i.name; });
}

std::string output_names(const Program& program) {
  return joined(program.outputs, " ", [](const Output& o) { return o.name; });
}

/// The axes as a definition writes them: "1|P" where an input may be 1 and repeats, "OH" where the
/// extent has that name.
std::vector<std::string> axis_texts(const Program& program, const Uop& tensor) {
  const auto* input = std::get_if<uop::Input>(&tensor.node().kind);
  std::vector<std::string> axes;
  for (std::size_t k = 0; k < tensor.shape().size(); ++k) {
    const Expr& extent = tensor.shape()[k];
    const auto named = std::ranges::find(program.sizes, extent, &NamedSize::value);
    const bool repeats = input != nullptr && k < input->broadcast.size() && input->broadcast[k];
    axes.push_back((repeats ? "1|" : "") +
                   (named == program.sizes.end() ? extent.to_string() : named->name));
  }
  return axes;
}

std::string shape_text(const Program& program, const Uop& tensor) {
  return fmt::format("[{}]", fmt::join(axis_texts(program, tensor), ", "));
}

std::string number_text(double value, bool is_integer) {
  return is_integer ? fmt::format("{}", static_cast<std::int64_t>(value))
                    : fmt::format("{}", value);
}

/// "int >= 1, default 1"
std::string range_text(const ParamDecl& p) {
  std::string text = p.is_integer ? "int" : "real";
  if (p.lower) text += fmt::format(" >= {}", *p.lower);
  if (p.upper) text += fmt::format("{} <= {}", p.lower ? " and" : "", *p.upper);
  return text + (p.default_value ? ", default " + number_text(*p.default_value, p.is_integer)
                                 : ", required");
}

/// The text before a number at the end, and that number, or -1.
std::pair<std::string, int> numbered(const std::string& name) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  if (digits == 0 || digits == name.size() || name.size() - digits > 4) return {name, -1};
  return {name.substr(0, digits), std::stoi(name.substr(digits))};
}

/// Names in a row, with stride0 stride1 as stride0-1.
std::string param_names(const std::vector<ParamDecl>& params) {
  std::vector<std::string> texts;
  for (std::size_t k = 0; k < params.size();) {
    const auto [stem, first] = numbered(params[k].name);
    std::size_t end = k + 1;
    while (first >= 0 && end < params.size() &&
           numbered(params[end].name) == std::pair(stem, first + static_cast<int>(end - k))) {
      ++end;
    }
    texts.push_back(
        end == k + 1 ? params[k].name
                     : fmt::format("{}-{}", params[k].name, first + static_cast<int>(end - k) - 1));
    k = end;
  }
  return fmt::format("{}", fmt::join(texts, " "));
}

std::string in_place_text(const OpRecord& record, const Program& program) {
  return joined(record.in_place, ", ", [&](const std::pair<int, int>& pair) {
    return fmt::format("{} -> {}", record.inputs[static_cast<std::size_t>(pair.first)].name,
                       program.outputs[static_cast<std::size_t>(pair.second)].name);
  });
}

Json params_json(const std::vector<ParamDecl>& params) {
  Json all = Json::array();
  for (const ParamDecl& p : params) {
    Json one = {{"name", p.name}, {"type", p.is_integer ? "int" : "real"}};
    if (p.default_value && p.is_integer)
      one["default"] = static_cast<std::int64_t>(*p.default_value);
    if (p.default_value && !p.is_integer) one["default"] = *p.default_value;
    if (p.lower) one["least"] = *p.lower;
    if (p.upper) one["greatest"] = *p.upper;
    one["meaning"] = p.meaning;
    all.push_back(one);
  }
  return all;
}

Json program_json(const Program& program, const OpRecord* record) {
  Json inputs = Json::array();
  for (const Uop& u : program.inputs) {
    const std::string& input = std::get<uop::Input>(u.node().kind).name;
    Json one = {{"name", input}, {"shape", axis_texts(program, u)}, {"dtype", name(u.dtype())}};
    if (record != nullptr) {
      one["optional"] = std::ranges::find(record->inputs, input, &InputDecl::name)->optional;
    }
    inputs.push_back(one);
  }
  Json outputs = Json::array();
  for (const Output& o : program.outputs) {
    outputs.push_back({{"name", o.name},
                       {"shape", axis_texts(program, o.value)},
                       {"dtype", name(o.value.dtype())}});
  }
  Json sizes = Json::array();
  for (const NamedSize& s : program.sizes) {
    sizes.push_back({{"name", s.name}, {"value", s.value.to_string()}});
  }
  return {{"equation", program.equation},
          {"inputs", inputs},
          {"outputs", outputs},
          {"sizes", sizes},
          {"params", params_json(program.params)}};
}

Json op_json(const Resolved& resolved) {
  Json all = {{"op", resolved.program->name}};
  if (resolved.record != nullptr) all["family"] = resolved.record->family;
  all.update(program_json(*resolved.program, resolved.record));
  if (resolved.record == nullptr) return all;
  const OpRecord& record = *resolved.record;
  all["params"] = params_json(record.params);
  all["dtypes"] = Json::array();
  for (const DType t : record.dtypes) all["dtypes"].push_back(name(t));
  all["in_place"] = Json::array();
  for (const auto& [input, output] : record.in_place) {
    all["in_place"].push_back({record.inputs[static_cast<std::size_t>(input)].name,
                               resolved.program->outputs[static_cast<std::size_t>(output)].name});
  }
  all["policy"] = record.policy;
  all["source"] = record.source;
  return all;
}

using Line = std::vector<std::string>;

/// Columns as wide as their widest cell, two spaces apart; the last one runs free.
void print_table(const std::vector<Line>& lines) {
  std::vector<std::size_t> widths;
  for (const Line& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t k = 0; k < line.size(); ++k) widths[k] = std::max(widths[k], line[k].size());
  }
  for (const Line& line : lines) {
    std::string text;
    for (std::size_t k = 0; k < line.size(); ++k) {
      text += fmt::format("{:<{}}", line[k], k + 1 < line.size() ? widths[k] + 2 : 0);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    print(text + "\n");
  }
}

void print_all() {
  std::vector<Line> lines = {{"OP", "FAMILY", "INPUTS", "OUTPUTS", "PARAMS", "DTYPES", "EQUATION"}};
  for (const OpRecord& record : catalogue()) {
    const Resolved resolved = resolve_program(record.name);
    lines.push_back({record.name, record.family, input_names(record),
                     output_names(*resolved.program), param_names(record.params),
                     dtype_names(record.dtypes), record.equation});
  }
  print_table(lines);
}

void print_section(const char* title, const std::vector<Line>& lines) {
  if (lines.empty()) return;
  print(fmt::format("\n{}\n", title));
  std::vector<Line> indented = lines;
  for (Line& line : indented) line.front().insert(0, "  ");
  print_table(indented);
}

void print_about(const OpRecord& record, const Program& program) {
  std::vector<Line> lines = {{"dtypes", dtype_names(record.dtypes)}};
  if (!record.in_place.empty()) lines.push_back({"in place", in_place_text(record, program)});
  if (!record.policy.empty()) lines.push_back({"pinned", record.policy});
  lines.push_back({"source", record.source});
  print_section("about", lines);
}

void print_one(const Resolved& resolved) {
  const Program& program = *resolved.program;
  const OpRecord* record = resolved.record;
  print(record != nullptr ? fmt::format("{} ({})\n", program.name, record->family)
                          : program.name + "\n");
  if (!program.equation.empty()) print(fmt::format("  {}\n", program.equation));
  std::vector<Line> tensors;
  for (const Uop& u : program.inputs) {
    const std::string& input = std::get<uop::Input>(u.node().kind).name;
    const bool optional =
        record != nullptr && std::ranges::find(record->inputs, input, &InputDecl::name)->optional;
    tensors.push_back({input, std::string(name(u.dtype())),
                       shape_text(program, u) + (optional ? "  optional" : "")});
  }
  print_section("inputs", tensors);
  tensors.clear();
  for (const Output& o : program.outputs) {
    tensors.push_back({o.name, std::string(name(o.value.dtype())), shape_text(program, o.value)});
  }
  print_section("outputs", tensors);
  std::vector<Line> sizes;
  for (const NamedSize& s : program.sizes) sizes.push_back({s.name, "= " + s.value.to_string()});
  print_section("sizes", sizes);
  std::vector<Line> params;
  for (const ParamDecl& p : record != nullptr ? record->params : program.params) {
    params.push_back({p.name, range_text(p), p.meaning});
  }
  print_section("parameters", params);
  if (record != nullptr) print_about(*record, program);
}

int ops(const Options& options) {
  if (!options.op.empty()) {
    const Resolved resolved = resolve_program(options.op);
    if (options.json) {
      print(op_json(resolved).dump() + "\n");
    } else {
      print_one(resolved);
    }
    return 0;
  }
  if (!options.json) {
    print_all();
    return 0;
  }
  for (const OpRecord& record : catalogue()) {
    print(op_json(resolve_program(record.name)).dump() + "\n");
  }
  return 0;
}

}  // namespace

void add_ops(CLI::App& app, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("ops", "list the ops, or say everything about one");
  command->add_option("OP", options->op, "an op, a .mote file, or -")->type_name("");
  command->add_flag("--json", options->json, "one JSON object a line");
  command->callback([options, &action] { action = [options] { return ops(*options); }; });
}

}  // namespace mote::tool
