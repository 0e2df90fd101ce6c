// SPDX-License-Identifier: Apache-2.0
// Backends that a program loads while it runs. They stay until the process ends. A list that was
// taken does not change, so commands may run on other threads while a plug-in is loaded.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/base/kernel.h"

namespace MOTE_API mote {

enum class Probe {
  none,
  child  ///< the library is loaded in a child process first, so that a crash costs nothing
};

/// Loads the plug-in and adds its backends; for a file that is loaded already, it returns them
/// again. Throws StatusError (MOTE_FAILED, "plug-in PATH: …") if the file is no library, lacks
/// mote_plugin_init, has another ABI version or a malformed table, does not survive the probe, or
/// has a backend whose name is taken; then nothing is added.
std::vector<const mote_backend*> load_backends(const std::string& path, Probe probe = Probe::child);

/// Loads the plug-ins that $MOTE_PLUGIN_PATH lists (files and folders, separated by colons), then
/// those in the folders lib/mote/plugins next to the program's, next to mote's own library, and of
/// the installation. Returns one line for each library that is refused, which does not stop the
/// rest.
std::vector<std::string> load_found_backends(Probe probe = Probe::child);

/// Returns all loaded backends in the order of loading, for RunOptions::backends. The list stays
/// valid and unchanged; a later call returns a longer one. Takes no lock.
std::span<const mote_backend* const> loaded_backends();

}  // namespace mote
