// SPDX-License-Identifier: Apache-2.0
// Computes the expected outputs of a case: by the generated kernel of an op, by C compiled at run
// time for a program file, or by the interpreter without a C compiler.
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
  /// Takes dense inputs and outputs in the program's order. Throws Error when the kernel fails.
  std::function<void(const Case&, std::vector<Dense>& inputs, std::vector<Dense>& outputs)> run;
  /// The memory that it takes in addition to inputs and outputs: temporaries, and the interpreter's
  /// arrays.
  std::function<std::size_t(const Case&)> bytes;
};

/// The reference of the case's instance, made once. Throws Error.
std::shared_ptr<const Reference> reference_for(const Case& c);

/// The bytes of the temporaries of a program; the greatest std::size_t on overflow.
std::size_t temporary_bytes(const LoopProgram& loops, const Case& c);

/// Calls `run` over dense tensors of the case.
void run_dense(const Case& c, std::vector<Dense>& inputs, std::vector<Dense>& outputs,
               const std::function<mote_status(const mote_call*)>& run);

/// A reference compiled from C text by the `cc` of this machine and kept loaded; null when there is
/// no compiler or it fails.
/// `call_inputs` lists the possible inputs of a call in order; empty: the program's.
std::shared_ptr<const Reference> compile_reference(const std::shared_ptr<const LoopProgram>& loops,
                                                   std::vector<std::string> call_inputs = {});
/// A reference that evaluates any program node by node, without compiling it.
std::shared_ptr<const Reference> interpreted(const std::shared_ptr<const Program>& program);
/// A reference, compiled if possible and otherwise interpreted, for any program that takes the
/// case's inputs and parameters.
std::shared_ptr<const Reference> reference_of(const Case& c,
                                              const std::shared_ptr<const LoopProgram>& loops);

}  // namespace mote
