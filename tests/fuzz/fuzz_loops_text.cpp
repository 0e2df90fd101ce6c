// SPDX-License-Identifier: Apache-2.0
// Fuzzes the text of loop programs: one that verify() accepts prints as text that parses to an
// equal program, which prints as the same text.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>

#include "fuzz.h"
#include "mote/base/error.h"
#include "mote/codegen/parse_loops.h"

namespace {

const std::shared_ptr<const mote::Program>& source() {
  static const auto program = std::make_shared<const mote::Program>(mote::parse_program(
      "op all\nparam eps real = 1\nparam s int = 1 in 1..\ninput x f32[R, N]\ninput i i32[R]\n"
      "size H = (R + 1)/$s\noutput y = x\noutput z = i\n"));
  return program;
}

bool is_legal(const mote::LoopProgram& p) {
  try {
    verify(p);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::optional<mote::LoopProgram> program;
  try {
    program = mote::parse_loops(mote::fuzz::text_of(data, size), source());
  } catch (const mote::Error& error) {
    mote::fuzz::require_one_line(error);
    return 0;
  }
  mote::fuzz::must_not_throw([&] {
    const std::string printed = to_string(*program);
    if (!is_legal(*program)) return;
    const mote::LoopProgram again = mote::parse_loops(printed, source());
    mote::fuzz::require(equal(again, *program), printed, to_string(again));
    mote::fuzz::require(to_string(again) == printed, printed, to_string(again));
  });
  return 0;
}
