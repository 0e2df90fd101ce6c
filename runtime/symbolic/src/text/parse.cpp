// SPDX-License-Identifier: Apache-2.0
// Reads the header of a graph's text and the statements' names and clauses.
#include <limits>
#include <utility>

#include "mote/base/near_names.h"
#include "text/parser.h"

namespace mote {
namespace graph_text {
namespace {

constexpr std::size_t kMaxGraphText = std::size_t{1} << 30;

}  // namespace

GraphParser::GraphParser(TextCursor& text, std::size_t size, const Registry& registry,
                         std::span<const NamedFunction> functions, Tapes& tapes, int depth)
    : text_(text),
      size_(size),
      depth_(depth),
      functions_(functions),
      tapes_(tapes),
      graph_("graph", registry) {}

SymbolicGraph GraphParser::run() {
  text_.next_statement();
  header();
  end_statement();
  while (depth_ > 1 ? !text_.peek("}") : !text_.at_end()) {
    statement();
    if (depth_ == 1 || !text_.peek("}")) end_statement();
  }
  for (const Edge& edge : edges_)
    build(edge.before.at, [&] { graph_.order(node_named(edge), edge.after); });
  std::vector<TensorSymbol> outputs;
  for (const ReadName& output : outputs_) outputs.push_back(find(output));
  graph_.set_outputs(outputs);
  return std::move(graph_);
}

void GraphParser::end_statement() {
  if (!text_.at_statement_end()) text_.expected("the end of the statement");
  text_.next_statement();
}

TensorSymbol GraphParser::find(const ReadName& name) const {
  if (name.is_left_out()) text_.fail(name.at, "expected a symbol, got '_'");
  return build(name.at, [&] { return graph_.find(name.text); });
}

std::vector<TensorSymbol> GraphParser::find_all(const std::vector<ReadName>& names) const {
  std::vector<TensorSymbol> symbols;
  symbols.reserve(names.size());
  for (const ReadName& name : names)
    symbols.push_back(name.is_left_out() ? TensorSymbol{} : find(name));
  return symbols;
}

NodeSymbol GraphParser::node_named(const Edge& edge) const {
  if (!edge.is_label) {
    const NodeSymbol node = graph_.producer(find(edge.before));
    if (!node) text_.fail(edge.before.at, "no node writes " + edge.before.text);
    return node;
  }
  const auto found = labels_.find(edge.before.text);
  if (found != labels_.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [label, node] : labels_) known.push_back(label);
  text_.fail(edge.before.at, "no node has the name @" + name_text(edge.before.text) +
                                 did_you_mean(edge.before.text, known));
}

void GraphParser::header() {
  if (!text_.accept_word("graph")) text_.expected("'graph'");
  graph_ = SymbolicGraph(read_name(text_, "the graph's name").text, graph_.registry());
  text_.open("(");
  for (bool first = true; !text_.peek(")"); first = false) {
    if (!first) text_.expect(",");
    const ReadName name = new_name(read_name(text_, "an input's name"));
    const ReadForm form = read_form(text_);
    build(name.at, [&] {
      return form.is_known ? graph_.input(name.text, form.form)
                           : graph_.input(name.text, form.form.dtype);
    });
  }
  text_.close(")");
  text_.expect("->");
  text_.open("(");
  for (bool first = true; !text_.peek(")"); first = false) {
    if (!first) text_.expect(",");
    outputs_.push_back(read_name(text_, "an output's name"));
  }
  text_.close(")");
}

ReadName GraphParser::new_name(ReadName name) const {
  if (name.is_left_out() || name.text.empty())
    text_.fail(name.at, "expected the name of a new symbol, got '" + name.text + "'");
  return name;
}

void GraphParser::statement() {
  label_ = {};
  node_name_.clear();
  const bool has_label = text_.accept("@");
  if (has_label) {
    node_name_ = (label_ = read_name(text_, "a node's name")).text;
    if (label_.text.empty()) text_.fail(label_.at, "expected a node's name, got ''");
    if (text_.peek("\"")) node_name_ = text_.string();
    text_.expect(":");
  }
  ReadName head = read_name(text_, "a statement");
  targets_.clear();
  mode_ = Mode::none;
  if (text_.peek("=") || text_.peek("<-") || text_.peek(",")) {
    targets_.push_back(head);
    while (text_.accept(",")) targets_.push_back(read_name(text_, "a symbol or '_'"));
    mode_ = text_.accept("<-") ? Mode::write : Mode::define;
    if (mode_ == Mode::define) text_.expect("=");
    head = read_name(text_, "a value");
  }
  const NodeSymbol node = value(std::move(head));
  if (node) {
    finish(node);
  } else if (has_label) {
    text_.fail(label_.at, "@" + name_text(label_.text) + " names no node");
  }
}

void GraphParser::finish(NodeSymbol node) {
  if (!node_name_.empty()) graph_.rename(node, node_name_);
  if (!label_.text.empty() && !labels_.emplace(label_.text, node).second)
    text_.fail(label_.at, "two nodes have the name @" + name_text(label_.text));
  if (text_.accept_word("recompute")) {
    const std::size_t at = text_.position();
    const std::int64_t segment = text_.integer();
    if (segment < 1 || segment > std::numeric_limits<std::uint32_t>::max())
      text_.fail(at, "expected a segment from 1, got " + std::to_string(segment));
    graph_.mark_recomputed(node, static_cast<std::uint32_t>(segment));
  }
  if (!text_.accept_word("after")) return;
  do {
    Edge edge;
    edge.is_label = text_.accept("@");
    edge.before = read_name(text_, "a symbol or @node");
    edge.after = node;
    edges_.push_back(std::move(edge));
  } while (text_.accept(","));
}

}  // namespace graph_text

SymbolicGraph parse_graph(std::string_view text, const Registry& registry,
                          std::span<const NamedFunction> functions) {
  try {
    TextCursor cursor(text, std::string(graph_text::kSubject), graph_text::kMaxGraphText);
    Tapes tapes;
    return graph_text::GraphParser(cursor, text.size(), registry, functions, tapes).run();
  } catch (const StatusError&) {
    throw;
  } catch (const Error& e) {
    throw StatusError(MOTE_INVALID, e.what());
  }
}

}  // namespace mote
