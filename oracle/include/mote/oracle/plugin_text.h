// SPDX-License-Identifier: Apache-2.0
// A plug-in around a function of the user's own, as C.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mote/base/export.h"
#include "mote/oracle/resolve.h"

namespace MOTE_API mote {

/// Whether a function in C can have that name.
bool is_c_name(std::string_view text);

struct PluginOptions {
  std::string function;  ///< its name in C, and the backend's
  /// native, f32 or f64: what its sums are kept in. Empty: f32 for tensors of 16 bits, else native.
  std::string accumulator = {};
  /// Optional inputs and outputs that it cannot do without: calls that lack them are declined. For
  /// all others that a call lacks it gets NULL.
  std::vector<std::string> needs = {};
  std::vector<std::string> commands = {};  ///< for its head: how it is compiled, and so on
  bool row_major = false;                  ///< it takes tensors without gaps only
  bool nondeterministic = false;           ///< equal calls may be rounded otherwise, as by atomics
  bool pointer = false;                    ///< the plug-in has a variable of that name, to be set
  int indices = 0;                         ///< mote_indices: what it takes for granted about them
  bool gpu = false;                        ///< it takes pointers of a GPU, and a stream behind
};

/// A file that makes a plug-in of a function with the signature that `mote emit OP` prints: checks
/// of the call, the kernel, its contract. Needs mote/base/thunk.h, and thunk_outputs.h where
/// outputs are optional. Throws Error for what is no name in C, for an unknown accumulator, and for
/// a needed tensor that is not optional. Where `gpu`, it is linked with lib/mote/cuda_launcher.so
/// too.
std::string plugin_around(const Resolved& op, const PluginOptions& options);

}  // namespace mote
