// SPDX-License-Identifier: Apache-2.0
// The calls of an op that lack some of the optional inputs of a function that takes all inputs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mote/codegen/loops.h"
#include "mote/oracle/resolve.h"

namespace mote {

struct PartialCall {
  TensorMask inputs;                 ///< the inputs of the record that the call has
  LoopProgram loops;                 ///< the kernel of such calls
  std::string suffix;                ///< "without_c", for names of functions
  std::vector<std::string> outputs;  ///< the name in the whole op of each of its outputs
};

/// The loops of the op for a function that takes all its inputs.
LoopProgram loops_of(const Resolved& op);
/// The outputs that a call of the op may leave out.
std::vector<std::string> optional_outputs_of(const Resolved& op);

/// The calls with all needed inputs and fewer inputs than the instance, those with fewest inputs
/// first. There are none for a program file. Throws Error for a needed tensor that is neither an
/// optional input nor an optional output of the op.
std::vector<PartialCall> partial_calls(const Resolved& op, const std::vector<std::string>& needed);
/// The inputs of the op that some of these calls lack.
std::vector<std::string> optional_inputs(const Resolved& op, const std::vector<PartialCall>& calls);

}  // namespace mote
