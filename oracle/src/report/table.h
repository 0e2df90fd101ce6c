// SPDX-License-Identifier: Apache-2.0
// Prints cells of text in columns, within a width.
#pragma once

#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/oracle/screen.h"

namespace MOTE_API mote {

using Cells = std::vector<std::string>;

struct Table {
  std::vector<Cells> lines;          ///< the first holds the columns' names
  std::vector<bool> left;            ///< columns aligned to the left; missing ones: to the right
  std::vector<Colour> colours = {};  ///< the colours of lines; missing ones have none
};

/// Leaves out the columns whose cells below the name are all in `empty`, except the first `kept`
/// columns.
void leave_out_columns(Table& table, const std::vector<std::string>& empty, std::size_t kept);

/// The table with each column as wide as its widest cell. If that exceeds the screen, cells to the
/// left take several lines; if it still does, columns that do not fit follow below, after the first
/// column again. Nothing is cut off.
std::string aligned(const Table& table, const Screen& screen);

}  // namespace mote
