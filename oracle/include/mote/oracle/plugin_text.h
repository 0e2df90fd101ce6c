// SPDX-License-Identifier: Apache-2.0
// Writes a plug-in around a function of the user's own, as C.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mote/base/export.h"
#include "mote/oracle/resolve.h"

namespace MOTE_API mote {

/// True if a function in C can have that name.
bool is_c_name(std::string_view text);

struct PluginOptions {
  std::string function;  ///< its name in C, and the backend's name
  /// The accumulator of its sums: native, f32 or f64. Empty: f32 for 16-bit tensors, else native.
  std::string accumulator = {};
  /// Optional inputs and outputs that it requires: calls that lack them are declined. It gets NULL
  /// for all others that a call lacks.
  std::vector<std::string> needs = {};
  std::vector<std::string> commands = {};  ///< lines for the head: how to compile it, and so on
  bool row_major = false;                  ///< it takes only tensors without gaps
  bool nondeterministic = false;           ///< equal calls may round differently, as with atomics
  bool pointer = false;                    ///< the plug-in has a variable of that name, to be set
  int indices = 0;                         ///< mote_indices: its assumptions about indices
  bool gpu = false;                        ///< it takes pointers of a GPU, followed by a stream
};

/// The text of a plug-in that calls a function with the signature that `mote emit OP` prints:
/// checks of the call, the kernel, its contract. It includes mote/base/thunk.h, and thunk_outputs.h
/// if outputs are optional. Throws Error for a name that is not valid in C, for an unknown
/// accumulator, and for a needed tensor that is not optional. With `gpu`, it must also be linked
/// with lib/mote/cuda_launcher.so.
std::string plugin_around(const Resolved& op, const PluginOptions& options);

}  // namespace mote
