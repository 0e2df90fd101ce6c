// SPDX-License-Identifier: Apache-2.0
// Prints commands that compile a plug-in around a function, to be pasted into a shell.
#pragma once

#include <string>
#include <vector>

namespace mote::tool {

struct PluginFiles {
  std::string plugin;                ///< "DIR/f_plugin.c"
  std::vector<std::string> sources;  ///< the files with the function
  std::string library;               ///< "DIR/f.so"
  bool gpu = false;                  ///< it must be linked with mote's launcher for GPUs
};

/// The command "cc -std=c11 … -I<headers of mote> f_plugin.c f.c -o f.so -lm", with the headers of
/// this installation or build, or as pkg-config finds them if there are none.
std::string compile_command(const PluginFiles& files);

}  // namespace mote::tool
