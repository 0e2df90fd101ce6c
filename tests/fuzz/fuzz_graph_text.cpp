// SPDX-License-Identifier: Apache-2.0
// Fuzzes the text of symbolic graphs: a graph prints as text that parses and prints as the same
// text; verify() says yes or throws an Error, and so do gradient(), evaluate() and compile().
#include <cstddef>
#include <cstdint>

#include "fuzz.h"
#include "graphs/symbolic/graph_text_trial.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    mote::test::try_graph_text(mote::fuzz::text_of(data, size));
  } catch (const mote::test::BrokenPromise& broken) {
    mote::fuzz::broken(broken.what);
  }
  return 0;
}
