// SPDX-License-Identifier: Apache-2.0
// The ops rnn_sequence, lstm_sequence and gru_sequence, for which mote has no kernel: those of
// backends compute them. The pass replace makes them of loops over the steps of a cell where a
// backend of the context takes the call.
//
//   y, h_next, c_next = lstm_sequence(x, h, c, w, r, b, lengths)
//
// x [T, N, C] and y [T, N, H] are sequences, h, c and the states at the end [N, H], lengths i64[N]
// or left out, the weights those of the cell (mote/symbolic/sequence.h). With backwards=1 a row goes
// from its last step to its first. The gradient, lstm_sequence.grad, takes the gradients of the outputs, as far as they come, and all
// inputs, and gives the gradients of x, h, c, w, r and b.
#pragma once

#include <vector>

#include "mote/symbolic/replace.h"

namespace mote {

/// Registers the ops in the global registry, unless they are there.
void register_sequence_ops();
/// Returns rows that replace loops by these ops, one for each way to write such a loop. They are
/// not exact: a backend computes all steps in its own way.
std::vector<Replacement> sequence_rows();

}  // namespace mote
