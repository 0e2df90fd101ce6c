// SPDX-License-Identifier: Apache-2.0
/* A plug-in that ends the process that loads it. */
#include <stdlib.h>

#include "mutant.h"

mote_status mote_plugin_init(mote_plugin* plugin) {
  (void)plugin;
  abort();
}
