// SPDX-License-Identifier: Apache-2.0
// Reads loops and branches, and the graphs in their braces.
#include <algorithm>

#include "mote/symbolic/control.h"
#include "text/parser.h"

namespace mote::graph_text {

std::vector<TensorSymbol> GraphParser::symbols_in_brackets() {
  std::vector<ReadName> names;
  text_.open("(");
  for (bool first = true; !text_.peek(")"); first = false) {
    if (!first) text_.expect(",");
    names.push_back(read_name(text_, "a symbol or '_'"));
  }
  text_.close(")");
  return find_all(names);
}

SymbolicGraph GraphParser::braced_graph() {
  const std::size_t at = text_.position();
  text_.expect("{");
  if (depth_ >= kMaxNesting)
    text_.fail(at, "more than " + std::to_string(kMaxNesting) + " graphs are inside each other");
  SymbolicGraph graph =
      GraphParser(text_, size_, graph_.registry(), functions_, tapes_, depth_ + 1).run();
  text_.expect("}");
  return graph;
}

NodeSymbol GraphParser::loop(const ReadName& head) {
  const std::vector<TensorSymbol> inputs = symbols_in_brackets();
  auto control = std::make_shared<ControlInfo>();
  control->has_counter = text_.accept_word("counter");
  if (text_.accept_word("limit")) {
    const std::size_t at = text_.position();
    control->limit = text_.integer();
    if (control->limit < 0)
      text_.fail(at, "expected a limit of at least 0, got " + std::to_string(control->limit));
  }
  if (text_.accept_word("checkpoint")) {
    const std::size_t at = text_.position();
    control->checkpoints = text_.accept_word("sqrt") ? kKeepSquareRoot : text_.integer();
    if (control->checkpoints < 1 && control->checkpoints != kKeepSquareRoot)
      text_.fail(at, "expected 'sqrt' or a number of at least 1, got " +
                         std::to_string(control->checkpoints));
  }
  control->graphs.push_back(braced_graph());
  if (control->graphs[0].output_indices().empty())
    text_.fail(head.at, "the body of a while needs outputs, the last of which is the condition");
  NodeInfo node;
  node.control = std::move(control);
  for (const TensorSymbol input : inputs) node.inputs.push_back(input ? input.index : kNoIndex);
  return add_control(std::move(node), head.at);
}

NodeSymbol GraphParser::branches(const ReadName& head) {
  NodeInfo node;
  const auto add = [&](const std::vector<TensorSymbol>& inputs) {
    for (const TensorSymbol input : inputs) node.inputs.push_back(input ? input.index : kNoIndex);
  };
  const std::size_t at = text_.position();
  const std::vector<TensorSymbol> index = symbols_in_brackets();
  if (index.size() != 1) text_.fail(at, "case takes 1 index, got " + std::to_string(index.size()));
  add(index);
  const std::size_t otherwise_at = text_.position();
  std::vector<TensorSymbol> otherwise;
  const bool has_otherwise = text_.accept_word("else");
  if (has_otherwise) otherwise = symbols_in_brackets();
  auto control = std::make_shared<ControlInfo>();
  control->is_loop = false;
  std::vector<std::vector<TensorSymbol>> inputs;
  while (text_.accept_word("of")) {
    const std::size_t inputs_at = text_.position();
    inputs.push_back(symbols_in_brackets());
    control->graphs.push_back(braced_graph());
    const std::size_t count = input_indices(control->graphs.back()).size();
    if (inputs.back().size() != count)
      text_.fail(inputs_at, "the branch takes " + std::to_string(count) + " inputs, got " +
                                std::to_string(inputs.back().size()));
  }
  if (control->graphs.empty()) text_.expected("'of' and a branch");
  const std::size_t results = result_count(*control);
  if (has_otherwise && otherwise.size() != results)
    text_.fail(otherwise_at, "expected " + std::to_string(results) +
                                 " symbols for no branch, got " + std::to_string(otherwise.size()));
  otherwise.resize(results);
  add(otherwise);
  for (const std::vector<TensorSymbol>& of_branch : inputs) add(of_branch);
  node.control = std::move(control);
  return add_control(std::move(node), head.at);
}

NodeSymbol GraphParser::add_control(NodeInfo node, std::size_t at) {
  std::vector<TensorSymbol> inputs;
  for (const std::uint32_t input : node.inputs)
    inputs.push_back(input == kNoIndex ? TensorSymbol{} : graph_.at(input));
  const auto is_left_out = [](const ReadName& name) { return name.is_left_out(); };
  const auto left_out = std::ranges::find_if(targets_, is_left_out);
  if (mode_ == Mode::write && left_out != targets_.end())
    text_.fail(left_out->at, "an output of a while or a case cannot be left out");
  return build(at, [&] {
    if (mode_ == Mode::write) return graph_.add_control_like(node, inputs, find_all(targets_));
    const NodeSymbol made = graph_.add_control_like(node, inputs);
    const std::size_t count = graph_.info(made).outputs.size();
    if (targets_.size() != count)
      text_.fail(at, "it has " + std::to_string(count) + (count == 1 ? " output" : " outputs") +
                         ", got " + std::to_string(targets_.size()) + " names");
    for (std::size_t k = 0; k < count; ++k)  // '_' stands for one without a name: all are there
      if (const ReadName& name = targets_[k]; !name.is_left_out())
        build(name.at, [&] { graph_.rename(graph_.output(made, k), new_name(name).text); });
    return made;
  });
}

}  // namespace mote::graph_text
