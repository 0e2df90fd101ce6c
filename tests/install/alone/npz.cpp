// SPDX-License-Identifier: Apache-2.0
// Uses the component npz alone: a missing file is an error that names it.
#include <string>

#include "mote/npz/npz.h"
#include "mote/runtime/status.h"

int main() {
  try {
    mote::read_npz("no_such_file.npz");
  } catch (const mote::StatusError& e) {
    return std::string(e.what()).find("no_such_file.npz") != std::string::npos ? 0 : 1;
  }
  return 1;
}
