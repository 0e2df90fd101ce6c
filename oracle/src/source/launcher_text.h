// SPDX-License-Identifier: Apache-2.0
// C around functions that launch CUDA kernels: plug-ins of thunks, and one table of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mote/oracle/plugin_text.h"
#include "mote/oracle/resolve.h"

namespace mote {

/// A function with the signature that `mote emit OP` prints, C linkage, and a stream behind.
struct Launcher {
  Resolved op;
  PluginOptions options;
};

/// Where its kernels run: on the CPU by cuda_shim.so, or on a GPU by cuda_launcher.so.
enum class LauncherMachine : std::uint8_t { shim, gpu };

/// The types of its arguments, the stream's apart.
std::vector<std::string> argument_types(const Launcher& launcher);

/// A plug-in of one function, whose names do not meet those of the others: to be compiled apart.
std::string launcher_plugin(const Launcher& launcher);

/// The plug-in of all of them, with one backend of that name.
std::string launcher_table(const std::string& backend, const std::vector<Launcher>& all,
                           LauncherMachine machine);

}  // namespace mote
