// SPDX-License-Identifier: Apache-2.0
// Prints measured cases, as text for people and as lines of JSON.
#pragma once

#include <string>

#include "bench/agreement.h"
#include "bench/machine.h"
#include "bench/measure.h"
#include "bench/samples.h"
#include "mote/oracle/screen.h"

namespace mote::tool {

/// One case, measured.
struct BenchReport {
  std::string text;  ///< of the case
  OpWork work;
  WorkLimit limit = {};
  MeasuredCase measured = {};
  ResultAgreement agreement = {};
};

/// The machine and its limits.
std::string machine_text(const MachineLimits& machine);
std::string machine_json(const MachineLimits& machine);

/// The case, what it moves and computes, a line for each backend from the fastest on, and why a
/// backend is left out. Ratios are those to the fastest whose results are not wrong.
std::string bench_text(const BenchReport& report, const Screen& screen);
std::string bench_json(const BenchReport& report);

}  // namespace mote::tool
