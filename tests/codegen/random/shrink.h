// SPDX-License-Identifier: Apache-2.0
// Shrinks a failing program to the smallest that still fails, by edits of the domain: fewer trials
// and outputs, nodes replaced by their operands or by inputs, simpler index maps, smaller sizes.
#pragma once

#include "check_program.h"

namespace mote::test {

struct Failure {
  Program program;
  std::vector<Trial> trials;
  Mismatch mismatch;
};

/// Shrinks a `failure` of check_program(program, trials, options). Ends after `most` checks.
Failure shrink(Failure failure, const CheckOptions& options, int most = 4000);

}  // namespace mote::test
