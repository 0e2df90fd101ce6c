// What the outputs of a case must be: from the generated kernel of an op, from C compiled at run
// time for a program file, or from the interpreter where there is no C compiler.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "buffer.h"
#include "mote/oracle/case.h"

namespace mote {

struct Reference {
  std::string kind;  ///< "generated kernel", "C compiled by cc", "interpreter"
  /// Dense inputs and outputs in the program's order. Throws Error when the kernel fails.
  std::function<void(const Case&, std::vector<Dense>& inputs, std::vector<Dense>& outputs)> run;
};

/// Made once for each instance. Throws Error.
std::shared_ptr<const Reference> reference_for(const Case& c);

/// Calls `run` over dense tensors of the case.
void run_dense(const Case& c, std::vector<Dense>& inputs, std::vector<Dense>& outputs,
               const std::function<mote_status(const mote_call*)>& run);

/// A function compiled from C text by the `cc` of this machine, kept loaded; null when there is no
/// compiler or it fails.
std::shared_ptr<const Reference> compile_reference(const Program& program);

}  // namespace mote
