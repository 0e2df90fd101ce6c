// SPDX-License-Identifier: Apache-2.0
// Prints C around functions that launch CUDA kernels: plug-ins of thunks, and one table of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mote/oracle/plugin_text.h"
#include "mote/oracle/resolve.h"

namespace mote {

/// A function with the signature that `mote emit OP` prints, C linkage, and a final stream
/// argument.
struct Launcher {
  Resolved op;
  PluginOptions options;
};

/// The machine on which its kernels run: the CPU by cuda_shim.so, or a GPU by cuda_launcher.so.
enum class LauncherMachine : std::uint8_t { shim, gpu };

/// The types of its arguments, without the stream.
std::vector<std::string> argument_types(const Launcher& launcher);

/// A plug-in of one function, whose names do not clash with the others': it is compiled separately.
std::string launcher_plugin(const Launcher& launcher);

/// The plug-in of all functions, with one backend of that name.
std::string launcher_table(const std::string& backend, const std::vector<Launcher>& all,
                           LauncherMachine machine);

}  // namespace mote
