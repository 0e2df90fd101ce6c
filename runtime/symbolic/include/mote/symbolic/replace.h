// SPDX-License-Identifier: Apache-2.0
// The table of replacements of the pass replace: patterns of nodes, and the command that computes
// the same. Any library may add rows.
//
//   register_replacement({.name = "conv2d_relu",
//                         .pattern = "graph p(x f32[?], w f32[?]) -> (y)\n"
//                                    "  h = conv2d(x, w)\n"
//                                    "  y = relu(h)",
//                         .by = "graph r(x f32[?], w f32[?]) -> (y)\n  y = conv2d_relu(x, w)",
//                         .is_exact = true, .reason = "…"});
#pragma once

#include <string>
#include <vector>

#include "mote/base/dtype.h"
#include "mote/base/export.h"

namespace MOTE_API mote {

struct Replacement {
  std::string name;
  /// Commands, functions and loops as the text of a graph, whose outputs are those of one node. Its
  /// inputs stand for any symbols, one that is read twice for the same one; dtypes and shapes are
  /// not compared. An input that its op can do without also stands for one that is left out. A
  /// parameter that the pattern gives must have that value; others may have any. A constant stands
  /// for one number, whatever its dtype; a reshape that only adds axes of extent 1 for such a one.
  /// Functions are compared by name. A loop stands for one whose body is the pattern's, node by
  /// node; the order of what they carry, and of their other inputs, does not matter.
  std::string pattern;
  /// One command as the text of a graph, with the same names of inputs and outputs; outputs of the
  /// pattern that it does not have must not be read. It takes the parameters of the commands that
  /// it replaces, as far as it has them by name (of two nodes with one name: those of the first),
  /// and those that are given here. Where mote has no kernel for its op, the row applies if a
  /// backend of the context takes the call.
  std::string by;
  /// True if the results are equal bit for bit, except for the sign of a NaN, for generated kernels
  /// of the same variant. Others run only if the caller asks for them (PassOptions::inexact).
  bool is_exact = false;
  /// The dtypes of the result in which it is exact; none stands for all.
  std::vector<DType> exact_dtypes = {};
  std::string reason;  ///< why it is exact, or where the results differ
};

/// Throws StatusError if a replacement of that name is there, or if its texts are none such.
void register_replacement(Replacement replacement);
/// All rows, in the order of registration; mote's own come first.
std::vector<Replacement> replacements();

}  // namespace mote
