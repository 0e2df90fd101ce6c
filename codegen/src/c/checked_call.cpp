// SPDX-License-Identifier: Apache-2.0
// Writes the call of the typed function: pointers, strides and sizes are read from the tensors as
// they are, parameters by their names.
#include "c/checked_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mote::emit {
namespace {

const uop::Input& input_of(const Program& source, int k) {
  return std::get<uop::Input>(source.inputs[static_cast<std::size_t>(k)].node().kind);
}

std::size_t position(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
}

class CheckedCall {
 public:
  CheckedCall(const LoopProgram& p, const Names& names, const EmitOptions& options)
      : p_(p),
        source_(*p.source),
        names_(names),
        options_(options),
        call_(call_names(source_, options)),
        printer_(p, names),
        facts_(base_facts(source_)) {
    printer_.limit_sizes(0);
  }

  std::string text(const std::string& signature) {
    inputs();
    outputs();
    params();
    sizes();
    const std::string items = arguments_text();
    std::string calls;
    const auto call = [&](const std::string& condition, const std::string& function) {
      calls += wrap(fmt::format("  {}return mote_checked_result(call, &{}, {}({}));", condition,
                                signature, function, items)) +
               "\n";
    };
    if (!options_.gen.empty()) call("if (run == 2) ", options_.gen);
    call("", function_name(p_, options_));
    std::string body = opening(steps_, calls, uses());
    if (room_ > 0) body.insert(0, fmt::format("  int64_t mote_room[{}];\n", room_));
    if (options_.gen.empty()) body.insert(0, "  (void)run;\n");
    return fmt::format("static mote_status {}_checked(const mote_call *call, int run) {{\n{}}}\n",
                       function_name(p_, options_), body);
  }
  const Uses& uses() const { return printer_.uses(); }

 private:
  std::string code(const Expr& e) { return printer_.expr(e, facts_).text; }
  void operand(const std::string& name, const std::string& function, const std::string& tensor,
               int rank, std::uint32_t broadcast) {
    const std::string room = rank == 0    ? "NULL"
                             : room_ == 0 ? "mote_room"
                                          : fmt::format("mote_room + {}", room_);
    steps_.push_back({"mote_operand", names_.tensor(name),
                      fmt::format("{}({}, {}, {}, {})", function, tensor, rank,
                                  broadcast == 0 ? "0" : fmt::format("{:#x}", broadcast), room)});
    room_ += 2 * rank;
  }
  void inputs() {
    for (const Uop& u : source_.inputs) {
      const auto& input = std::get<uop::Input>(u.node().kind);
      operand(input.name, "mote_operand_of",
              fmt::format("call->inputs[{}]", position(call_.inputs, input.name)), u.rank(),
              broadcast_axes(input));
    }
  }
  void outputs() {
    for (std::size_t k = 0; k < source_.outputs.size(); ++k) {
      const Output& o = source_.outputs[k];
      const bool is_optional =
          std::ranges::find(options_.optional_outputs, o.name) != options_.optional_outputs.end();
      operand(o.name, is_optional ? "mote_operand_wanted" : "mote_operand_of",
              fmt::format("call->outputs[{}]", k), o.value.rank(), 0);
    }
  }
  void params() {
    for (const ParamDecl& param : source_.params) {
      const double otherwise = param.default_value.value_or(0);
      steps_.push_back(
          {param.is_integer ? "int64_t" : "double", names_.param(param.name),
           fmt::format("mote_checked_{}(call, {}, {}, {})", param.is_integer ? "integer" : "real",
                       position(call_.params, param.name), quoted(param.name),
                       param.is_integer ? integer_text(static_cast<std::int64_t>(otherwise))
                                        : real_text(otherwise))});
    }
  }
  std::string extent(int input, int axis) const {
    return fmt::format("{}.extents[{}]",
                       printer_.read(names_.tensor(input_of(source_, input).name)), axis);
  }
  void sizes() {
    for (const SizeRule& rule : source_.size_rules) {
      std::string value = extent(rule.input, rule.axis);
      if (!rule.candidates.empty()) {
        std::string items;
        for (const auto& [input, axis] : rule.candidates)
          items += (items.empty() ? "" : ", ") + extent(input, axis);
        value = fmt::format("mote_thunk_broadcast({}, (const int64_t[]){{{}}})",
                            rule.candidates.size(), items);
      } else if (!(rule.scale == Expr(1) && rule.offset == Expr(0))) {
        value = fmt::format("mote_checked_size({}, {}, {})", value, code(rule.scale),
                            code(rule.offset));
      }
      steps_.push_back({"int64_t", names_.size(rule.size.name()), value});
    }
  }
  /// Returns the arguments of the typed function.
  std::string arguments_text() const {
    std::string items;
    for (const Argument& a : arguments(p_)) {
      if (!items.empty()) items += ", ";
      if (a.kind == Argument::Kind::size) {
        items += printer_.read(names_.size(a.name));
      } else if (a.kind == Argument::Kind::param) {
        items += printer_.read(names_.param(a.name));
      } else {
        const std::string& t = printer_.read(names_.tensor(a.name));
        items +=
            t + ".data" + (find_tensor(p_, a.name)->shape.empty() ? "" : ", " + t + ".strides");
      }
    }
    return items;
  }

  const LoopProgram& p_;
  const Program& source_;
  const Names& names_;
  const EmitOptions& options_;
  const CallNames call_;
  Printer printer_;
  const Facts facts_;
  std::vector<Step> steps_;
  int room_ = 0;  ///< the integers that operands need whose extents and strides are not the call's
};

}  // namespace

std::string opening(const std::vector<Step>& steps, const std::string& rest, const Uses& uses) {
  std::string out;
  for (const Step& step : steps) {
    const bool is_read = !step.name.empty() && uses.reads(step.name);
    const std::string name = is_read ? fmt::format("const {} {} = ", step.type, step.name) : "";
    out += step.value.ends_with('\n') ? step.value : wrap("  " + name + step.value + ";") + "\n";
  }
  return out + rest;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c != '$') out += c;
  }
  return out + '"';
}

std::uint32_t broadcast_axes(const uop::Input& input) {
  std::uint32_t broadcast = 0;
  for (std::size_t axis = 0; axis < input.broadcast.size(); ++axis)
    if (input.broadcast[axis]) broadcast |= std::uint32_t{1} << axis;
  return broadcast;
}

CallNames call_names(const Program& source, const EmitOptions& options) {
  CallNames names{.inputs = options.call_inputs, .params = options.call_params};
  if (names.inputs.empty())
    for (int k = 0; k < static_cast<int>(source.inputs.size()); ++k)
      names.inputs.push_back(input_of(source, k).name);
  if (names.params.empty())
    for (const ParamDecl& param : source.params) names.params.push_back(param.name);
  return names;
}

std::string checked_call(const LoopProgram& p, const Names& names, const EmitOptions& options,
                         const std::string& signature, std::set<std::string>& calls) {
  CheckedCall call(p, names, options);
  std::string text = call.text(signature);
  call.uses().add_functions_to(calls);
  return text;
}

}  // namespace mote::emit
