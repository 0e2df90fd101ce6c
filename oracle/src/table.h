// SPDX-License-Identifier: Apache-2.0
// Cells of text in columns.
#pragma once

#include <string>
#include <vector>

namespace mote {

using Cells = std::vector<std::string>;

/// Lines of cells, each column as wide as its widest cell; `left` says which are aligned to the
/// left, columns beyond it are aligned to the right.
std::string aligned(const std::vector<Cells>& lines, const std::vector<bool>& left);

}  // namespace mote
