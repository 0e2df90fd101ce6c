// SPDX-License-Identifier: Apache-2.0
// Implements `mote ops`: a table of all ops, or everything about one op.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "gradient_orders.h"
#include "mote/oracle/resolve.h"
#include "ops_text.h"
#include "report/json_line.h"

namespace mote::tool {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct OpsArguments {
  std::string op;
  bool json = false;
  bool markdown = false;
  bool gradients = false;
};

OrderedJson params_json(const std::vector<ParamDecl>& params) {
  OrderedJson all = OrderedJson::array();
  for (const ParamDecl& p : params) {
    OrderedJson one = {{"name", p.name}, {"type", p.is_integer ? "int" : "real"}};
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

OrderedJson program_json(const Program& program, const OpRecord* record) {
  OrderedJson inputs = OrderedJson::array();
  for (const Uop& u : program.inputs) {
    const std::string& input = std::get<uop::Input>(u.node().kind).name;
    OrderedJson one = {
        {"name", input}, {"shape", axis_texts(program, u)}, {"dtype", name(u.dtype())}};
    if (record != nullptr) {
      one["optional"] = std::ranges::find(record->inputs, input, &InputDecl::name)->optional;
    }
    inputs.push_back(one);
  }
  OrderedJson outputs = OrderedJson::array();
  for (const Output& o : program.outputs) {
    OrderedJson one = {{"name", o.name},
                       {"shape", axis_texts(program, o.value)},
                       {"dtype", name(o.value.dtype())}};
    if (record != nullptr) one["optional"] = is_optional_output(*record, o.name);
    outputs.push_back(one);
  }
  OrderedJson sizes = OrderedJson::array();
  for (const NamedSize& s : program.sizes) {
    sizes.push_back({{"name", s.name}, {"value", s.value.to_string()}});
  }
  return {{"equation", program.equation},
          {"inputs", inputs},
          {"outputs", outputs},
          {"sizes", sizes},
          {"params", params_json(program.params)}};
}

/// The need of the gradient for each of its inputs (value or shape), and the inputs that each
/// output reads.
OrderedJson gradient_json(const OpRecord& gradient) {
  const Instance whole{gradient.dtypes.front(), full_mask(gradient)};
  const TensorMask read = read_mask(gradient, whole);
  OrderedJson inputs = OrderedJson::array(), outputs = OrderedJson::array();
  for (std::size_t k = 0; k < gradient.inputs.size(); ++k) {
    inputs.push_back(
        {{"name", gradient.inputs[k].name}, {"need", is_in(read, k) ? "value" : "shape"}});
  }
  const auto program = instantiate(gradient, whole);
  for (std::size_t k = 0; k < program->outputs.size(); ++k) {
    const TensorMask own = read_mask(gradient, whole, mask_bit(k));
    const std::string& output = program->outputs[k].name;
    OrderedJson reads = OrderedJson::array();
    for (std::size_t n = 0; n < gradient.inputs.size(); ++n)
      if (is_in(own, n)) reads.push_back(gradient.inputs[n].name);
    outputs.push_back(
        {{"name", output}, {"optional", is_optional_output(gradient, output)}, {"reads", reads}});
  }
  return {{"op", gradient.name}, {"inputs", inputs}, {"outputs", outputs}};
}

OrderedJson op_json(const Resolved& resolved) {
  OrderedJson all = {{"op", resolved.program->name}};
  if (resolved.record != nullptr) all["family"] = resolved.record->family;
  all.update(program_json(*resolved.program, resolved.record));
  if (resolved.record == nullptr) return all;
  const OpRecord& record = *resolved.record;
  all["params"] = params_json(record.params);
  all["dtypes"] = OrderedJson::array();
  for (const DType t : record.dtypes) all["dtypes"].push_back(name(t));
  all["in_place"] = OrderedJson::array();
  for (const auto& [input, output] : record.in_place) {
    all["in_place"].push_back({record.inputs[static_cast<std::size_t>(input)].name,
                               resolved.program->outputs[static_cast<std::size_t>(output)].name});
  }
  if (const OpRecord* gradient = gradient_of(record)) all["gradient"] = gradient_json(*gradient);
  if (!record.forms.empty()) all["forms"] = OrderedJson::array();
  for (const Form& f : record.forms)
    all["forms"].push_back({{"name", f.name}, {"meaning", f.meaning}, {"source", f.source}});
  all["policy"] = record.policy;
  all["source"] = record.source;
  return all;
}

using Line = std::vector<std::string>;

/// Prints columns as wide as their widest cell, two spaces apart; the last one is not padded.
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
  if (gradient_of(record) != nullptr) lines.push_back({"gradient", gradient_text(record)});
  if (!record.policy.empty()) lines.push_back({"pinned", record.policy});
  lines.push_back({"source", record.source});
  print_section("about", lines);
  lines.clear();
  for (const Form& f : record.forms) lines.push_back({f.name, f.meaning});
  print_section("forms", lines);
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
    const bool optional = record != nullptr && is_optional_output(*record, o.name);
    tensors.push_back({o.name, std::string(name(o.value.dtype())),
                       shape_text(program, o.value) + (optional ? "  optional" : "")});
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

int ops(const OpsArguments& options) {
  if (options.markdown) {
    print(ops_markdown());
    return 0;
  }
  if (options.gradients) {
    print(gradient_orders_markdown());
    return 0;
  }
  if (!options.op.empty()) {
    const Resolved resolved = resolve_program(options.op);
    if (options.json) {
      print(json_line(op_json(resolved)));
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
    print(json_line(op_json(resolve_program(record.name))));
  }
  return 0;
}

}  // namespace

void add_ops(CLI::App& app, Action& action) {
  const auto options = std::make_shared<OpsArguments>();
  CLI::App* command = app.add_subcommand("ops", "list the ops, or say everything about one");
  CLI::Option* op =
      command->add_option("OP", options->op, "an op, a .mote file, or -")->type_name("");
  CLI::Option* json = command->add_flag("--json", options->json, "one JSON object a line");
  CLI::Option* markdown =
      command->add_flag("--markdown", options->markdown, "the page docs/ops.md: every op")
          ->excludes(op)
          ->excludes(json);
  command
      ->add_flag("--gradients", options->gradients,
                 "the page docs/gradient-orders.md: how often each op can be differentiated")
      ->excludes(op)
      ->excludes(json)
      ->excludes(markdown);
  command->callback([options, &action] { action = [options] { return ops(*options); }; });
}

}  // namespace mote::tool
