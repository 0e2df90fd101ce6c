// SPDX-License-Identifier: Apache-2.0
// The options of measurements, from their C form.
#pragma once

#include <string>

#include "c/guard.h"
#include "mote/runtime/tune.h"

namespace mote::c {

inline TuningOptions tuning_options_of(const mote_tuning_options& given_options) {
  const mote_tuning_options o = sized(given_options);
  if (!(o.seconds >= 0))
    throw StatusError(MOTE_INVALID,
                      "options.seconds must be at least 0, got " + std::to_string(o.seconds));
  if (o.rounds < 0)
    throw StatusError(MOTE_INVALID,
                      "options.rounds must be at least 0, got " + std::to_string(o.rounds));
  TuningOptions options;
  if (o.seconds > 0) options.seconds = o.seconds;
  if (o.rounds > 0) options.rounds = o.rounds;
  options.again = o.again != 0;
  return options;
}

}  // namespace mote::c
