// SPDX-License-Identifier: Apache-2.0
// Finds and tests the C compiler.
#include "mote/oracle/c_compiler.h"

#include "judge/reference.h"
#include "mote/base/command.h"
#include "mote/codegen/passes.h"
#include "mote/uops/program.h"

namespace mote {

std::vector<std::string> c_compiler() { return command_named("CC", "cc"); }

bool c_compiler_works() {
  const auto twice =
      std::make_shared<const Program>(parse_program("op twice\ninput x f32[N]\noutput y = x*2\n"));
  return compile_reference(std::make_shared<const LoopProgram>(compile(twice))) != nullptr;
}

}  // namespace mote
