// SPDX-License-Identifier: Apache-2.0
// Uses the component oracle alone: a function of the program's own passes the check.
#include <cstdio>

#include "mote/oracle/function.h"
#include "square_root.h"

int main() {
  const mote::FunctionReport report =
      mote::check_function("sqrt", mote::typed(square_root), {.count = 10});
  std::puts(report.text.c_str());
  return report.passed ? 0 : 1;
}
