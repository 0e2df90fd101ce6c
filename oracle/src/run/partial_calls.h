// SPDX-License-Identifier: Apache-2.0
// The calls of an op that lack some of the optional inputs which a function of all inputs takes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mote/codegen/loops.h"
#include "mote/oracle/resolve.h"

namespace mote {

struct PartialCall {
  TensorMask inputs;                 ///< of the record, those that the call has
  LoopProgram loops;                 ///< the kernel of such calls
  std::string suffix;                ///< "without_c", for names of functions
  std::vector<std::string> outputs;  ///< for each output of its own that of the whole op
};

/// The loops of the op as a function of all its inputs computes it.
LoopProgram loops_of(const Resolved& op);
/// Outputs that a call of the op may leave out.
std::vector<std::string> optional_outputs_of(const Resolved& op);

/// The calls that have none of the inputs which the instance lacks and all that are needed, the
/// ones with fewest inputs first; the instance itself is left out. None for a program file. Throws
/// Error for a needed tensor that is neither an optional input nor an optional output of the op.
std::vector<PartialCall> partial_calls(const Resolved& op, const std::vector<std::string>& needed);
/// The inputs of the op that some of these calls lack.
std::vector<std::string> optional_inputs(const Resolved& op, const std::vector<PartialCall>& calls);

}  // namespace mote
