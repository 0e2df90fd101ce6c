// SPDX-License-Identifier: Apache-2.0
/* A plug-in of another ABI version, or one that ends the process. */
#include <stdlib.h>

#include "mote/base/kernel.h"

mote_status mote_plugin_init(mote_plugin* plugin) {
#ifdef OTHER_ABI
  plugin->abi_version = MOTE_ABI_VERSION + 1;
  return MOTE_OK;
#else
  (void)plugin;
  abort();
#endif
}
