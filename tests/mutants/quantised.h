// SPDX-License-Identifier: Apache-2.0
/* Numbers of 8 bits that represent reals. */
#ifndef MOTE_TESTS_MUTANT_QUANTISED_H
#define MOTE_TESTS_MUTANT_QUANTISED_H

#include "mutant.h"

/* Saturates to an element of 8 bits; NaN gives 0. */
static inline double mutant_saturated(const mutant_tensor* t, double value) {
  const int is_signed = t->type.code == kDLInt;
  if (isnan(value)) return 0;
  return fmin(fmax(value, is_signed ? -128 : 0), is_signed ? 127 : 255);
}

static inline double mutant_half_away(double value) {
  return copysign(floor(fabs(value) + 0.5), value);
}

/* Returns the lowest 8 bits of a whole number. */
static inline double mutant_wrapped(double value) {
  return isfinite(value) && fabs(value) < 0x1p62 ? (double)((int64_t)value & 255) : 0;
}

#endif
