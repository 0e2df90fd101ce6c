// SPDX-License-Identifier: Apache-2.0
// Uses the component compiler alone: a program becomes C.
#include <memory>
#include <string>

#include "mote/codegen/emit_c.h"
#include "mote/codegen/passes.h"
#include "mote/uops/program.h"

int main() {
  const auto program = std::make_shared<const mote::Program>(
      mote::parse_program("op twice\ninput x f32[N]\noutput y = x + x\n"));
  return mote::emit_c(mote::compile(program), {}).find("mote_twice") != std::string::npos ? 0 : 1;
}
