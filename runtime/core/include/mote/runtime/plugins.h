// SPDX-License-Identifier: Apache-2.0
// Backends that a program loads while it runs. They stay until the process ends; a list that was
// taken stays as it was, so that commands may run on other threads while a plug-in arrives.
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

/// Loads the plug-in and adds its backends; those of a file that is loaded already are returned
/// again. Throws StatusError (MOTE_FAILED, "plug-in PATH: …") for what is no library, lacks
/// mote_plugin_init, has another ABI version or a malformed table, does not survive the probe, or
/// has a backend whose name is taken; then nothing is added.
std::vector<const mote_backend*> load_backends(const std::string& path, Probe probe = Probe::child);

/// Loads what is there to be found: what $MOTE_PLUGIN_PATH lists (files and folders, separated by
/// colons), then the folders lib/mote/plugins beside the program's, beside mote's own library, and
/// of the installation. Returns one line for each library that is refused: it does not stop the
/// rest.
std::vector<std::string> load_found_backends(Probe probe = Probe::child);

/// All that were loaded, in that order, for RunOptions::backends. What it shows stays valid and
/// unchanged; a later call shows more. Takes no lock.
std::span<const mote_backend* const> loaded_backends();

}  // namespace mote
