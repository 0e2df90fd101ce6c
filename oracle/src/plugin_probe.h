// Whether a plug-in can be loaded without harm, found out in a child process.
#pragma once

#include <string>

namespace mote {

/// Loads the library in a child process. Throws Error "plug-in PATH: crashed while loading
/// (SIGABRT)" when that ends the child, or takes half a minute; a library that is refused in good
/// order is left to load_plugin, which says why. Asked once for each path.
void probe_plugin(const std::string& path);

}  // namespace mote
