// SPDX-License-Identifier: Apache-2.0
#include "heat_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "markup.h"
#include "mote/oracle/text.h"

namespace mote::tool {
namespace {

constexpr std::int64_t kMaxSquares = 48;  // along a side
constexpr int kSquare = 12;               // pixels
constexpr std::size_t kErrorsShown = 12;
constexpr int kShades = 5;

std::string location_text(const Difference& d) {
  return fmt::format("{}[{}]", d.tensor, fmt::join(d.index, ","));
}

/// The maximum error that the error bound allows, on the side of the result.
double allowance(const Difference& d) {
  if (!d.allowed) return 0;
  const double expected = d.expected.as_real();
  const bool above = d.got.as_real() > expected;
  return std::abs((above ? d.allowed->second : d.allowed->first).as_real() - expected);
}

double error_of(const Difference& d) { return std::abs(d.got.as_real() - d.expected.as_real()); }

/// The shade: 1 for a result just outside of its error bound, and one more for each factor of a
/// hundred.
int shade(double severity) {
  if (!std::isfinite(severity)) return kShades;
  const double steps = std::log10(std::max(severity, 1.0)) / 2;
  return 1 + std::min(kShades - 1, static_cast<int>(steps));
}

/// A tensor as a matrix, and the number of its elements in a square of the picture.
struct Grid {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t tall = 1;
  std::int64_t wide = 1;
};

Grid grid_of(const std::vector<std::int64_t>& shape) {
  Grid g;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    (k + 1 == shape.size() ? g.columns : g.rows) *= shape[k];
  }
  g.tall = (g.rows + kMaxSquares - 1) / kMaxSquares;
  g.wide = (g.columns + kMaxSquares - 1) / kMaxSquares;
  return g;
}

std::pair<std::int64_t, std::int64_t> square_of(const Difference& d, const Grid& g,
                                                const std::vector<std::int64_t>& shape) {
  std::int64_t row = 0;
  for (std::size_t k = 0; k + 1 < shape.size(); ++k) row = row * shape[k] + d.index[k];
  const std::int64_t column = shape.empty() ? 0 : d.index.back();
  return {row / g.tall, column / g.wide};
}

std::string description(const Difference& d, Verdict verdict) {
  if (verdict == Verdict::unwritten) return location_text(d) + ": never written";
  std::string text = fmt::format("{}: expected {}, got {}", location_text(d),
                                 number_text(d.expected), number_text(d.got));
  if (d.allowed) {
    text += fmt::format(", allowed {} to {}", number_text(d.allowed->first),
                        number_text(d.allowed->second));
  }
  return text;
}

void add_square(pugi::xml_node svg, std::int64_t row, std::int64_t column, const std::string& style,
                const std::string& title) {
  pugi::xml_node square = svg.append_child("rect");
  set(square, "x", fmt::format("{}", column * kSquare));
  set(square, "y", fmt::format("{}", row * kSquare));
  set(square, "width", fmt::format("{}", kSquare - 1));
  set(square, "height", fmt::format("{}", kSquare - 1));
  set(square, "class", style);
  if (!title.empty()) add(square, "title", title);
}

/// The known wrong elements of a tensor.
struct Wrong {
  std::vector<const Difference*> elements;
  bool complete = true;  ///< if not, elements after the last of them may be wrong too
};

/// The row-major position of an element.
std::int64_t place_in(const Grid& g, std::int64_t row, std::int64_t column) {
  return row * g.columns + column;
}

std::int64_t location_of(const Difference& d, const Grid& g,
                         const std::vector<std::int64_t>& shape) {
  const Grid each{.rows = g.rows, .columns = g.columns};
  const auto [row, column] = square_of(d, each, shape);
  return place_in(g, row, column);
}

/// True if the square has elements after the last one that is known to be wrong.
bool is_unknown(const Grid& g, std::int64_t row, std::int64_t column, std::int64_t last) {
  return place_in(g, std::min((row + 1) * g.tall, g.rows) - 1,
                  std::min((column + 1) * g.wide, g.columns) - 1) > last;
}

std::string caption(const CaseTensor& t, const Grid& g, const Wrong& wrong) {
  const std::int64_t elements = volume(t.shape);
  std::string text = wrong.complete
                         ? fmt::format("{}[{}]: {} of {} wrong", t.name, fmt::join(t.shape, ","),
                                       wrong.elements.size(), counted(elements, "element"))
                         : fmt::format("{}[{}]: the first {} wrong elements of {}", t.name,
                                       fmt::join(t.shape, ","), wrong.elements.size(), elements);
  if (g.tall * g.wide > 1) text += fmt::format("; a square is {} by {} elements", g.tall, g.wide);
  return text;
}

void add_wrong_square(pugi::xml_node svg, std::int64_t row, std::int64_t column,
                      const std::vector<const Difference*>& wrong, Verdict verdict) {
  double worst = 0;
  std::string title;
  for (const Difference* d : wrong) {
    worst = std::max(worst, severity(*d));
    title += (title.empty() ? "" : "\n") + description(*d, verdict);
  }
  add_square(svg, row, column,
             verdict == Verdict::unwritten ? "unwritten" : fmt::format("wrong{}", shade(worst)),
             title);
}

void add_heat_map(pugi::xml_node parent, const CaseTensor& t, const Wrong& wrong, Verdict verdict) {
  const Grid g = grid_of(t.shape);
  const std::int64_t rows = (g.rows + g.tall - 1) / g.tall;
  const std::int64_t columns = (g.columns + g.wide - 1) / g.wide;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<const Difference*>> squares;
  for (const Difference* d : wrong.elements) squares[square_of(*d, g, t.shape)].push_back(d);
  const std::int64_t last =
      wrong.complete ? g.rows * g.columns : location_of(*wrong.elements.back(), g, t.shape);

  pugi::xml_node figure = add(parent, "figure");
  pugi::xml_node svg = figure.append_child("svg");
  set(svg, "width", fmt::format("{}", columns * kSquare));
  set(svg, "viewBox", fmt::format("0 0 {} {}", columns * kSquare, rows * kSquare));
  set(svg, "role", "img");
  set(svg, "aria-label", fmt::format("wrong elements of {}", t.name));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const auto found = squares.find({r, c});
      if (found == squares.end())
        add_square(svg, r, c, is_unknown(g, r, c, last) ? "unknown" : "right", "");
      else
        add_wrong_square(svg, r, c, found->second, verdict);
    }
  }
  add(figure, "figcaption", caption(t, g, wrong));
}

/// A logarithmic scale from the least to the greatest of all shown numbers.
struct Scale {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  void include(double v) {
    if (!(v > 0) || !std::isfinite(v)) return;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  /// 0 for nothing, otherwise from 8 to 100.
  double percent(double v) const {
    if (!(v > 0)) return 0;
    if (!std::isfinite(v) || !(high > low)) return 100;
    return 8 + 92 * (std::log(v) - std::log(low)) / (std::log(high) - std::log(low));
  }
};

void add_bar(pugi::xml_node cell, const char* style, double percent, const std::string& text) {
  pugi::xml_node bar = add(cell, "span", "", fmt::format("bar {}", style));
  set(bar, "style", fmt::format("width:{:.0f}%", percent * 0.6));  // the rest is for the number
  add(cell, "span", text, "number");
}

}  // namespace

double severity(const Difference& d) {
  const double error = error_of(d);
  const double allowed = allowance(d);
  if (!std::isfinite(error) || !(allowed > 0)) return std::numeric_limits<double>::infinity();
  return error / allowed;
}

void add_heat_maps(pugi::xml_node parent, const Case& c, const Outcome& outcome) {
  for (const CaseTensor& t : c.outputs) {
    Wrong wrong;
    for (const Difference& d : outcome.differences) {
      if (d.tensor == t.name) wrong.elements.push_back(&d);
    }
    if (wrong.elements.empty()) continue;
    wrong.complete = outcome.differing <= std::ssize(outcome.differences) ||
                     wrong.elements.back() != &outcome.differences.back();
    add_heat_map(parent, t, wrong, outcome.verdict);
  }
}

void add_errors(pugi::xml_node parent, const Outcome& outcome) {
  if (outcome.differences.empty() || outcome.verdict == Verdict::unwritten) return;
  const std::size_t shown = std::min(kErrorsShown, outcome.differences.size());
  Scale scale;
  for (std::size_t k = 0; k < shown; ++k) {
    scale.include(error_of(outcome.differences[k]));
    scale.include(allowance(outcome.differences[k]));
  }
  if (outcome.differing > static_cast<std::int64_t>(shown))
    add(parent, "p",
        fmt::format("The first {} of the {} wrong elements:", shown, outcome.differing));
  pugi::xml_node table = add(add(parent, "div", "", "wide"), "table", "", "errors");
  pugi::xml_node head = add(add(table, "thead"), "tr");
  for (const char* title : {"element", "expected", "got", "error", "the bound allows"})
    add(head, "th", title);
  pugi::xml_node body = add(table, "tbody");
  for (std::size_t k = 0; k < shown; ++k) {
    const Difference& d = outcome.differences[k];
    pugi::xml_node row = add(body, "tr");
    add(row, "td", location_text(d));
    add(row, "td", number_text(d.expected), "value");
    add(row, "td", number_text(d.got), "value");
    const double error = error_of(d);
    add_bar(add(row, "td"), "error", scale.percent(error), fmt::format("{:.3g}", error));
    const double allowed = allowance(d);
    add_bar(add(row, "td"), "allowed", scale.percent(allowed),
            allowed > 0 ? fmt::format("{:.3g}", allowed) : "nothing");
  }
}

}  // namespace mote::tool
