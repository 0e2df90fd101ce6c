// SPDX-License-Identifier: Apache-2.0
// The program mote-gen with a library's ops in the catalogue.
#include <cstdio>
#include <exception>

#include "mote/generator/generator.h"
#include "mote/macroops/library.h"

int main(int argc, char** argv) {
  try {
    mote::extend_catalogue(mote::library_ops());
    mote::extend_catalogue(mote::library_programs());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "mote-gen: %s\n", e.what());
    return 2;
  }
  return mote::generator_main(argc, argv);
}
