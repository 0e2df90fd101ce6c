// SPDX-License-Identifier: Apache-2.0
// Describes the data of a case's inputs: NaN, infinities, signs, repeats, the greatest magnitude.
#pragma once

#include <string>
#include <vector>

#include "mote/oracle/case.h"

namespace mote::diagnosis {

struct Contents {
  std::string tensor;
  bool real = false;
  bool nan = false;
  bool infinity = false;
  bool minus_infinity = false;
  bool negative = false;  ///< a finite number below 0
  bool zero = false;      ///< +0 or -0
  bool minus_zero = false;
  bool twice = false;   ///< two elements of an integer tensor are equal
  double greatest = 0;  ///< the greatest finite magnitude
};

/// The description of each input; empty if inputs are too large to be read, or cannot be filled.
std::vector<Contents> contents_of(const Case& c);

}  // namespace mote::diagnosis
