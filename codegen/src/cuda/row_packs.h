// SPDX-License-Identifier: Apache-2.0
// Rows whose elements a block's threads move 16 bytes at a time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mote/codegen/emit_cuda.h"
#include "mote/codegen/loops.h"

namespace mote::cuda {

/// Elements side by side, at the place of a loop's round and behind it.
struct RowPack {
  std::string tensor;
  std::string pack;         ///< what they are in the form's program: a tensor of rank 1
  std::vector<Expr> index;  ///< of the first of them, by the loop's variable
  Conditions conditions;    ///< under which they are touched, the same for all rounds
  bool is_read = false;
  bool is_stored = false;
};

/// A loop of a row, by packs.
struct PackedLoop {
  std::vector<RowPack> packs;
  int elements = 0;  ///< that 16 bytes hold of the widest tensor
  Symbol at;         ///< the element within the pack
  Body body;         ///< of the loop, on elements of packs
};

struct RowPackForm {
  LoopProgram program;                 ///< the one given, with packs declared
  std::map<Symbol, PackedLoop> loops;  ///< by the variable of the loop
  std::vector<PackedRow> rows;         ///< what that demands of tensors
};

/// `p`: a stage whose rounds a block takes (rows.h), with the strides that it demands. nullopt
/// where no loop of a row touches elements at its own place alone, without a condition.
std::optional<RowPackForm> row_pack_form(const LoopProgram& p);

}  // namespace mote::cuda
