// SPDX-License-Identifier: Apache-2.0
/* Uses the component oracle from C: a function of the program's own passes the check. */
#include "mote/oracle/oracle.h"

#include <stdio.h>

#include "square_root.h"

int main(void) {
  mote_check_options options = {.size = sizeof(mote_check_options), .count = 10};
  char* report = NULL;
  const mote_status status =
      mote_check_function("sqrt", (mote_function)square_root, &options, &report);
  puts(report != NULL ? report : "no report");
  mote_check_free(report);
  return status == MOTE_OK ? 0 : 1;
}
