// SPDX-License-Identifier: Apache-2.0
// Where plug-ins are looked for: what $MOTE_PLUGIN_PATH lists (files and folders, separated by
// colons), then the folders lib/mote/plugins of the running program's, of mote's own library's and
// of the installation's prefix.
#pragma once

#include <string>
#include <vector>

#include "mote/base/export.h"

namespace MOTE_API mote {

struct PluginPlace {
  std::string path;      ///< a file or folder; it need not exist
  bool is_given = true;  ///< by the environment
};
std::vector<PluginPlace> plugin_places();
/// The libraries at a place: the file, or the folder's *.so by name. None where there is nothing.
std::vector<std::string> plugins_at(const std::string& place);

/// Two names of one file.
bool is_same_file(const std::string& a, const std::string& b);

/// Loads the library in a child process, which ends after that. Throws Error "plug-in PATH: crashed
/// while loading (SIGSEGV)" where the child did not survive it within half a minute; what else may
/// be wrong with the library is for load_plugin to say. What survived is not probed again. The
/// child is forked: threads may run, but none should be loading libraries by other means.
void probe_plugin(const std::string& path);

}  // namespace mote
