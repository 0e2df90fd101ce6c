// SPDX-License-Identifier: Apache-2.0
// Reads values: views, declarations, and what nodes compute.
#include <algorithm>

#include "mote/base/near_names.h"
#include "sequence/steps.h"
#include "text/elements.h"
#include "text/parser.h"

namespace mote::graph_text {

NodeSymbol GraphParser::value(ReadName head) {
  if (text_.accept(".")) {
    ReadName part = read_name(text_, "a view or an op");
    for (const ViewKind kind : kViews)
      if (part.text == name(kind) && text_.peek("(")) return view(head, kind, part.at);
    if (head.is_quoted || part.is_quoted) unknown_view(part);
    const std::string symbol = head.text;
    head.text += "." + part.text;
    while (text_.accept(".")) head.text += "." + text_.word("an op's name");
    if (graph_.has(symbol) && !graph_.registry().find(head.text)) unknown_view(part);
  } else if (!head.is_quoted && is_built_in(head.text)) {
    if (head.text == "copy") return copy(head);
    if (head.text == "fill") return fill(head);
    if (head.text == "function") return function(head);
    if (head.text == "while") return loop(head);
    if (head.text == "case") return branches(head);
    return declare(head);
  }
  return command(head);
}

void GraphParser::unknown_view(const ReadName& part) const {
  std::vector<std::string> known;
  for (const ViewKind kind : kViews) known.emplace_back(name(kind));
  text_.fail(part.at, "unknown view '" + part.text + "'" + did_you_mean(part.text, known));
}

ReadName GraphParser::target(const std::string& what, std::size_t at) const {
  if (mode_ != Mode::define || targets_.size() != 1)
    text_.fail(at, "expected NAME = " + what + ": it makes one symbol");
  return new_name(targets_[0]);
}

NodeSymbol GraphParser::view(const ReadName& base, ViewKind kind, std::size_t at) {
  const ReadName name = target(mote::name(kind), at);
  ViewStep step{kind, {}};
  text_.open("(");
  for (bool first = true; !text_.peek(")"); first = false) {
    if (!first) text_.expect(",");
    const std::size_t number_at = text_.position();
    const std::int64_t number = text_.integer();
    build(number_at, [&] { step.numbers.push_back(number); });
  }
  text_.close(")");
  const TensorSymbol of = find(base);
  build(at, [&] { graph_.view(of, step, name.text); });
  return {};
}

NodeSymbol GraphParser::declare(const ReadName& head) {
  const ReadName name = target(head.text, head.at);
  const TensorForm form = known_form();
  if (head.text == "tensor") build(name.at, [&] { graph_.tensor(form, name.text); });
  if (head.text == "zeros") build(name.at, [&] { graph_.zeros(form, name.text); });
  if (head.text == "constant") {
    build(name.at, [&] { graph_.constant(name.text, read_elements(text_, form, size_, gaps_)); });
  }
  return {};
}

TensorForm GraphParser::known_form() {
  const std::size_t at = text_.position();
  const ReadForm form = read_form(text_);
  if (!form.is_known) text_.fail(at, "expected extents, got '[?]': only inputs may lack them");
  return form.form;
}

TensorSymbol GraphParser::written(const ReadName& head, const std::optional<TensorForm>& form) {
  if (mode_ == Mode::define) {
    const ReadName name = target(head.text, head.at);
    if (!form) text_.fail(head.at, head.text + " needs the form of " + name.text + ", got none");
    return build(name.at, [&] { return graph_.tensor(*form, name.text); });
  }
  if (targets_.size() != 1)
    text_.fail(head.at, head.text + " writes 1 symbol, got " + std::to_string(targets_.size()));
  if (form) text_.fail(head.at, targets_[0].text + " has a form already, got another one");
  return find(targets_[0]);
}

NodeSymbol GraphParser::copy(const ReadName& head) {
  text_.open("(");
  const TensorSymbol x = find(read_name(text_, "a symbol"));
  std::optional<TensorForm> form;
  if (text_.accept(",")) form = known_form();
  text_.close(")");
  const TensorSymbol y = written(head, form);
  return build(head.at, [&] { return graph_.copy(x, y); });
}

NodeSymbol GraphParser::fill(const ReadName& head) {
  text_.open("(");
  std::optional<TensorForm> form;
  const std::string_view word = text_.peek_word();
  if (!word.empty() && word != "inf" && word != "nan") {
    form = known_form();
    text_.expect(",");
  }
  const double number = read_number(text_).real;
  text_.close(")");
  const TensorSymbol y = written(head, form);
  return build(head.at, [&] { return graph_.fill(y, number); });
}

NodeSymbol GraphParser::function(const ReadName& head) {
  const ReadName called = read_name(text_, "the function's name in quotes");
  const ReadCall call = read_call(text_);
  if (call.has_settings()) text_.fail(called.at, "a function has no parameters");
  if (mode_ == Mode::define)
    text_.fail(head.at, "a function writes symbols that are declared: expected '<-', got '='");
  const auto found = std::ranges::find(functions_, called.text, &NamedFunction::name);
  std::optional<NamedFunction> own = tape_function(called.text, tapes_);
  if (!own) own = step_function(called.text);
  if (found == functions_.end() && !own) {
    std::vector<std::string> known;
    for (const NamedFunction& f : functions_) known.push_back(f.name);
    text_.fail(called.at,
               "unknown function " + quoted_text(called.text) + did_you_mean(called.text, known));
  }
  const std::vector<TensorSymbol> inputs = find_all(call.inputs);
  const std::vector<TensorSymbol> outputs = find_all(targets_);
  return build(head.at, [&] {
    return graph_.call(found != functions_.end() ? *found : *own, inputs, outputs);
  });
}

NodeSymbol GraphParser::command(const ReadName& op) {
  if (!text_.peek("(")) text_.expected("'(' behind " + op.text.substr(0, 32));
  const ReadCall call = read_call(text_);
  const std::vector<TensorSymbol> inputs = find_all(call.inputs);
  return build(op.at, [&] {
    const Command command = command_of(op, call, graph_.registry());
    const auto is_left_out = [](const ReadName& name) { return name.is_left_out(); };
    if (mode_ != Mode::define || std::ranges::all_of(targets_, is_left_out)) {
      if (call.dtype) text_.fail(op.at, "the dtype follows from the outputs, which are declared");
      return graph_.write(command, inputs, find_all(targets_));
    }
    const NodeSymbol node = graph_.add_node(command, inputs, call.dtype);
    name_outputs(node);
    return node;
  });
}

void GraphParser::name_outputs(NodeSymbol node) {
  const std::size_t count = graph_.info(node).outputs.size();
  if (targets_.size() > count)
    text_.fail(targets_[count].at, graph_.text(node) + " has " + std::to_string(count) +
                                       " outputs, got " + std::to_string(targets_.size()));
  for (std::size_t k = 0; k < count; ++k) {
    const TensorSymbol output = graph_.output(node, k);
    if (k >= targets_.size() || targets_[k].is_left_out()) {
      if (!output) continue;
      graph_.leave_out(node, k);
      graph_.remove(output);
      continue;
    }
    if (!output)
      text_.fail(targets_[k].at, "output " + std::to_string(k) + " of " + graph_.text(node) +
                                     " is not there with these inputs");
    build(targets_[k].at, [&] { graph_.rename(output, new_name(targets_[k]).text); });
  }
}

}  // namespace mote::graph_text
