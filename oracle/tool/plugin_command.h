// SPDX-License-Identifier: Apache-2.0
// How a plug-in around a function is compiled, and checked: commands to be pasted into a shell.
#pragma once

#include <string>
#include <vector>

namespace mote::tool {

struct PluginFiles {
  std::string plugin;                ///< "DIR/f_plugin.c"
  std::vector<std::string> sources;  ///< what has the function
  std::string library;               ///< "DIR/f.so"
  bool gpu = false;                  ///< it is linked with mote's launcher for GPUs
};

/// "cc -std=c11 … -I<headers of mote> f_plugin.c f.c -o f.so -lm": with the headers of this
/// installation or build, or as pkg-config finds them where neither is there.
std::string compile_command(const PluginFiles& files);

}  // namespace mote::tool
