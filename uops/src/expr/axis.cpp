// SPDX-License-Identifier: Apache-2.0
// Parses and prints axes of shapes: "ci: $groups*CG", "1|P", "dA1[=dB0]", and default names.
#include <fmt/format.h>

#include "graph/node.h"
#include "mote/base/characters.h"
#include "mote/base/error.h"

namespace mote {
namespace {

// A view of text that keeps its line and column.
struct Cursor {
  std::string_view text;
  int line;
  int column;

  void advance(std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) {
      if (text[k] == '\n') {
        ++line;
        column = 1;
      } else {
        ++column;
      }
    }
    text.remove_prefix(n);
  }
  void skip_space() {
    while (!text.empty() && is_space(text[0])) advance(1);
  }
};

std::size_t word_length(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && is_word(text[n])) ++n;
  return n;
}

}  // namespace

std::string default_axis_name(const Expr& extent) {
  const std::optional<Symbol> symbol = extent.as_symbol();
  if (!symbol || symbol->kind() != SymbolKind::size) return "";
  std::string lower = symbol->name();
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

Axis parse_axis(std::string_view text, int line, int column) {
  Cursor at{text, line, column};
  at.skip_space();
  Axis axis{Expr()};
  axis.name = "";
  if (const std::size_t n = word_length(at.text); n > 0) {
    Cursor after = at;
    after.advance(n);
    after.skip_space();
    if (!after.text.empty() && after.text[0] == ':') {
      axis.name = at.text.substr(0, n);
      if (!is_identifier(axis.name))
        throw Error(fmt::format("index text: line {}, column {}: '{}' is not a name for an axis",
                                at.line, at.column, axis.name));
      after.advance(1);
      at = after;
      at.skip_space();
    }
  }
  if (!at.text.empty() && at.text[0] == '1') {
    Cursor after = at;
    after.advance(1);
    after.skip_space();
    if (!after.text.empty() && after.text[0] == '|') {
      axis.broadcast = true;
      after.advance(1);
      at = after;
    }
  }
  ParsedExpr parsed = parse_expr(at.text, at.line, at.column);
  axis.extent = std::move(parsed.expr);
  axis.constraints = std::move(parsed.constraints);
  if (axis.name.empty()) axis.name = default_axis_name(axis.extent);
  return axis;
}

Axis::Axis(const char* text) : Axis(parse_axis(text, 1, 1)) {}
Axis::Axis(const std::string& text) : Axis(parse_axis(text, 1, 1)) {}
Axis::Axis(const Expr& extent_, std::string name_)
    : extent(extent_), name(name_.empty() ? default_axis_name(extent_) : std::move(name_)) {}

IndexText::IndexText(const char* text) {
  ParsedExpr parsed = parse_expr(text);
  expr = std::move(parsed.expr);
  constraints = std::move(parsed.constraints);
}

Shape shape_of(const Uop& u) {
  Shape shape;
  for (std::size_t k = 0; k < u.shape().size(); ++k)
    shape.emplace_back(u.shape()[k], u.node().axis_names[k]);
  return shape;
}

}  // namespace mote
