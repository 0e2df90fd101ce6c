// SPDX-License-Identifier: Apache-2.0
// Fuzzes program text: a program prints as text that parses to an equal program, which prints as
// the same text.
#include <cstddef>
#include <cstdint>
#include <optional>

#include "fuzz.h"
#include "mote/base/error.h"
#include "mote/uops/program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::optional<mote::Program> program;
  try {
    program = mote::parse_program(mote::fuzz::text_of(data, size));
  } catch (const mote::Error& error) {
    mote::fuzz::require_one_line(error);
    return 0;
  }
  mote::fuzz::must_not_throw([&] {
    const std::string printed = to_string(*program);
    const mote::Program again = mote::parse_program(printed);
    mote::fuzz::require(equal(again, *program), printed, to_string(again));
    mote::fuzz::require(to_string(again) == printed, printed, to_string(again));
  });
  return 0;
}
