// SPDX-License-Identifier: Apache-2.0
/* Provides the parts of a thunk with optional outputs in addition to thunk.h (C99): outputs that a
 * call may leave out, and inputs whose data is needed only for some outputs. */
#ifndef MOTE_BASE_THUNK_OUTPUTS_H
#define MOTE_BASE_THUNK_OUTPUTS_H

#include "mote/base/thunk.h"

/* Returns output k of the call or, if that is NULL, a view without data that agrees with every
 * extent and every choice by strides. */
static inline mote_view mote_thunk_wanted(mote_thunk* thunk, int32_t k, const char* dtype,
                                          int rank) {
  if (thunk->status != MOTE_OK || thunk->call->outputs[k] != NULL)
    return mote_thunk_output(thunk, k, dtype, rank);
  mote_view view = {thunk->signature->outputs[k], NULL, ~(uint32_t)0, rank, {0}, {0}};
  for (int axis = 0; axis < rank; axis++) {
    view.extents[axis] = 1;
    view.strides[axis] = 1;
  }
  return view;
}

/* Returns an output of a call that was checked, or of one that is left out what
 * mote_thunk_wanted() says. */
MOTE_READS_OPERAND mote_operand mote_operand_wanted(const DLTensor* t, int rank, uint32_t broadcast,
                                                    int64_t* room) {
  static const int64_t ones[MOTE_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  if (t != NULL) return mote_operand_of(t, rank, broadcast, room);
  const mote_operand left_out = {NULL, ones, ones};
  return left_out;
}

/* Fails unless the call asks for at least one output, all of which are optional. */
static inline void mote_thunk_any_output(mote_thunk* thunk) {
  if (thunk->status != MOTE_OK) return;
  for (int32_t k = 0; k < thunk->signature->output_count; k++)
    if (thunk->call->outputs[k] != NULL) return;
  mote_thunk_fail(thunk, MOTE_INVALID, "no output is asked for");
}

/* Returns input k of the call; its data is needed if the call has one of the outputs (bit n: output
 * n). */
static inline mote_view mote_thunk_input_for(mote_thunk* thunk, int32_t k, const char* dtype,
                                             int rank, uint32_t broadcast, uint64_t outputs) {
  int read = 0;
  for (int32_t n = 0; thunk->status == MOTE_OK && n < thunk->signature->output_count; n++)
    read |= ((outputs >> n) & 1u) != 0 && thunk->call->outputs[n] != NULL;
  return read ? mote_thunk_input(thunk, k, dtype, rank, broadcast)
              : mote_thunk_shape(thunk, k, dtype, rank, broadcast);
}

#endif
