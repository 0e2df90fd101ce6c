// SPDX-License-Identifier: Apache-2.0
// Cells of text in columns, within a width.
#pragma once

#include <string>
#include <vector>

#include "mote/oracle/screen.h"

namespace mote {

using Cells = std::vector<std::string>;

struct Table {
  std::vector<Cells> lines;          ///< the first holds the columns' names
  std::vector<bool> left;            ///< columns aligned to the left; those beyond it: to the right
  std::vector<Colour> colours = {};  ///< of lines; those beyond it have none
};

/// Leaves out the columns of which all cells below the name are in `empty`, if they are not among
/// the first `kept`.
void leave_out_columns(Table& table, const std::vector<std::string>& empty, std::size_t kept);

/// Each column is as wide as its widest cell. Where that is more than the screen has, cells to the
/// left take several lines; where it still is, columns that do not fit follow below, behind the
/// first column again. Nothing is cut off.
std::string aligned(const Table& table, const Screen& screen);

}  // namespace mote
