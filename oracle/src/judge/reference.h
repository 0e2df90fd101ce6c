// SPDX-License-Identifier: Apache-2.0
// What the outputs of a case must be: from the generated kernel of an op, from C compiled at run
// time for a program file, or from the interpreter where there is no C compiler.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mote/codegen/loops.h"
#include "mote/oracle/case.h"
#include "run/buffer.h"

namespace mote {

struct Reference {
  std::string kind;  ///< "generated kernel", "C compiled by cc", "interpreter"
  /// Dense inputs and outputs in the program's order. Throws Error when the kernel fails.
  std::function<void(const Case&, std::vector<Dense>& inputs, std::vector<Dense>& outputs)> run;
  /// Memory that it takes beside inputs and outputs: temporaries, and the interpreter's arrays.
  std::function<std::size_t(const Case&)> bytes;
};

/// Made once for each instance. Throws Error.
std::shared_ptr<const Reference> reference_for(const Case& c);

/// Bytes of the temporaries of a program; the greatest std::size_t where that overflows.
std::size_t temporary_bytes(const LoopProgram& loops, const Case& c);

/// Calls `run` over dense tensors of the case.
void run_dense(const Case& c, std::vector<Dense>& inputs, std::vector<Dense>& outputs,
               const std::function<mote_status(const mote_call*)>& run);

/// A function compiled from C text by the `cc` of this machine, kept loaded; null when there is no
/// compiler or it fails.
/// `call_inputs`: what a call may hold, in order; empty: the program's.
std::shared_ptr<const Reference> compile_reference(const std::shared_ptr<const LoopProgram>& loops,
                                                   std::vector<std::string> call_inputs = {});
/// Ready at once, whatever the program: evaluated node by node, nothing is compiled.
std::shared_ptr<const Reference> interpreted(const std::shared_ptr<const Program>& program);
/// Compiled, or else interpreted: of any program that takes the case's inputs and parameters.
std::shared_ptr<const Reference> reference_of(const Case& c,
                                              const std::shared_ptr<const LoopProgram>& loops);

}  // namespace mote
