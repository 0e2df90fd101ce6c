// SPDX-License-Identifier: Apache-2.0
// Widths first, then the lines.
#include "table.h"

#include <fmt/format.h>

#include <algorithm>

namespace mote {

std::string aligned(const std::vector<Cells>& lines, const std::vector<bool>& left) {
  std::vector<std::size_t> widths(lines.front().size(), 0);
  for (const Cells& line : lines) {
    for (std::size_t k = 0; k < line.size(); ++k) widths[k] = std::max(widths[k], line[k].size());
  }
  std::string text;
  for (const Cells& line : lines) {
    std::string row;
    for (std::size_t k = 0; k < line.size(); ++k) {
      row += k < left.size() && left[k] ? fmt::format("{:<{}}  ", line[k], widths[k])
                                        : fmt::format("{:>{}}  ", line[k], widths[k]);
    }
    text += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace mote
