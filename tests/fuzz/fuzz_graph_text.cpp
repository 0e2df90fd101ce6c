// SPDX-License-Identifier: Apache-2.0
// Fuzzes the text of symbolic graphs: a graph prints as text that parses and prints as the same
// text, and verify() says yes or throws an Error.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "fuzz.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/text.h"

namespace {

const mote::NamedFunction& function() {
  static const mote::NamedFunction f = {
      "f", [](std::span<const mote::Tensor>, std::span<const mote::Tensor>) {}};
  return f;
}

mote::SymbolicGraph parse(std::string_view text) {
  return mote::parse_graph(text, mote::Registry::global(), std::span(&function(), 1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::optional<mote::SymbolicGraph> graph;
  try {
    graph = parse(mote::fuzz::text_of(data, size));
  } catch (const mote::Error& error) {
    mote::fuzz::require_one_line(error);
    return 0;
  }
  mote::fuzz::must_not_throw([&] {
    const std::string printed = to_text(*graph);
    const std::string again = to_text(parse(printed));
    mote::fuzz::require(again == printed, printed, again);
  });
  try {
    verify(*graph);
  } catch (const mote::Error& error) {
    mote::fuzz::require_one_line(error);
  }
  return 0;
}
