// SPDX-License-Identifier: Apache-2.0
// The program mote with a library's ops in the catalogue.
#include <cstdio>
#include <exception>

#include "mote/macroops/library.h"
#include "mote/tool/tool.h"

int main(int argc, char** argv) {
  try {
    mote::extend_catalogue(mote::library_ops());
    mote::extend_catalogue(mote::library_programs());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "mote: %s\n", e.what());
    return 2;
  }
  return mote::tool_main(argc, argv);
}
