// SPDX-License-Identifier: Apache-2.0
// Lists where plug-ins are searched for: the files and folders in $MOTE_PLUGIN_PATH (separated by
// colons), then the folders lib/mote/plugins under the prefixes of the running program, of mote's
// own library and of the installation.
#pragma once

#include <string>
#include <vector>

#include "mote/base/export.h"

namespace MOTE_API mote {

struct PluginLocation {
  std::string path;      ///< a file or folder; it need not exist
  bool is_given = true;  ///< by the environment
};
std::vector<PluginLocation> plugin_locations();
/// Returns the libraries at a location: the file, or the folder's *.so by name. None if nothing is
/// there.
std::vector<std::string> plugins_at(const std::string& location);

/// Returns true if both names are of one file.
bool is_same_file(const std::string& a, const std::string& b);

/// Loads the library in a child process, which ends after that. Throws Error "plug-in PATH: crashed
/// while loading (SIGSEGV)" if the child did not survive within half a minute; load_plugin reports
/// whatever else is wrong with the library. A library that survived is not probed again. The child
/// is forked: threads may run, but none should be loading libraries by other means.
void probe_plugin(const std::string& path);

}  // namespace mote
