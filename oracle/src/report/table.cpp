// SPDX-License-Identifier: Apache-2.0
// Computes widths first, then blocks of columns that fit side by side, then their lines.
#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>
#include <string_view>

#include "mote/oracle/text.h"

namespace mote {
namespace {

constexpr std::size_t kGap = 2;         ///< blanks between columns
constexpr std::size_t kLeastText = 12;  ///< the minimum width of columns of text
constexpr std::size_t kLeastScreen = 30;

using Widths = std::vector<std::size_t>;
using Block = std::vector<std::size_t>;  ///< columns that are printed side by side

bool is_left(const Table& table, std::size_t column) {
  return column < table.left.size() && table.left[column];
}

std::size_t sum_of(const Widths& widths, const Block& block) {
  std::size_t sum = 0;
  for (const std::size_t column : block) sum += widths[column] + (sum > 0 ? kGap : 0);
  return sum;
}

/// The least width of a column of numbers whose name may take several lines.
std::size_t least_width(const Table& table, std::size_t column) {
  std::size_t least = 0;
  for (std::size_t k = 1; k < table.lines.size(); ++k)
    least = std::max(least, columns_of(table.lines[k][column]));
  std::string_view name = table.lines.front()[column];
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('/'), name.size() - 1) + 1;
    least = std::max(least, columns_of(name.substr(0, end)));
    name.remove_prefix(end);
  }
  return least;
}

/// The widths of the columns. If they are too wide together, names of columns of numbers take
/// several lines, and then the widest columns of text become narrower, if that is enough.
Widths fitted(const Table& table, std::size_t columns) {
  Widths widths(table.lines.front().size(), 0);
  for (const Cells& line : table.lines)
    for (std::size_t k = 0; k < line.size(); ++k)
      widths[k] = std::max(widths[k], columns_of(line[k]));
  Block all(widths.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (sum_of(widths, all) <= columns) return widths;
  for (const std::size_t k : all)
    if (!is_left(table, k)) widths[k] = least_width(table, k);
  const auto most_text = [&](std::size_t most) {
    Widths narrower = widths;
    for (const std::size_t k : all)
      if (is_left(table, k)) narrower[k] = std::min(widths[k], std::max(most, kLeastText));
    return narrower;
  };
  for (std::size_t most = columns; most >= kLeastText; --most)
    if (sum_of(most_text(most), all) <= columns) return most_text(most);
  return most_text(columns / 2 - kGap);
}

std::vector<Block> blocks_of(const Widths& widths, std::size_t columns) {
  std::vector<Block> blocks = {{0}};
  for (std::size_t k = 1; k < widths.size(); ++k) {
    blocks.back().push_back(k);
    if (sum_of(widths, blocks.back()) <= columns || blocks.back().size() == 2) continue;
    blocks.back().pop_back();
    blocks.push_back({0, k});
  }
  return blocks;
}

std::vector<std::string> cell_lines(const std::string& cell, std::size_t width) {
  std::vector<std::string> lines;
  std::istringstream text(wrapped(cell, width, 0));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

/// One line of the table, which may take several lines on the screen.
std::string row_text(const Table& table, const Cells& line, const Block& block,
                     const Widths& widths) {
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 0;
  for (const std::size_t column : block) {
    cells.push_back(cell_lines(line[column], widths[column]));
    height = std::max(height, cells.back().size());
  }
  std::string text;
  for (std::size_t k = 0; k < height; ++k) {
    std::string row;
    for (std::size_t c = 0; c < block.size(); ++c) {
      const std::string part = k < cells[c].size() ? cells[c][k] : "";
      const std::string blanks(widths[block[c]] - columns_of(part), ' ');
      if (c > 0) row += std::string(kGap, ' ');
      row += is_left(table, block[c]) ? part + blanks : blanks + part;
    }
    text += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace

void leave_out_columns(Table& table, const std::vector<std::string>& empty, std::size_t kept) {
  for (std::size_t k = table.lines.front().size(); k-- > kept;) {
    const auto is_empty = [&](const Cells& line) {
      return std::ranges::find(empty, line[k]) != empty.end();
    };
    if (!std::all_of(table.lines.begin() + 1, table.lines.end(), is_empty)) continue;
    const auto at = static_cast<std::ptrdiff_t>(k);
    for (Cells& line : table.lines) line.erase(line.begin() + at);
    if (k < table.left.size()) table.left.erase(table.left.begin() + at);
  }
}

std::string aligned(const Table& table, const Screen& screen) {
  const std::size_t columns = std::max(screen.columns, kLeastScreen);
  const Widths widths = fitted(table, columns);
  std::string text;
  for (const Block& block : blocks_of(widths, columns)) {
    if (!text.empty()) text += "\n";
    for (std::size_t k = 0; k < table.lines.size(); ++k) {
      const Colour colour = k < table.colours.size() ? table.colours[k] : Colour::none;
      text += painted(row_text(table, table.lines[k], block, widths), colour, screen);
    }
  }
  return text;
}

}  // namespace mote
