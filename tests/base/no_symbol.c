// SPDX-License-Identifier: Apache-2.0
/* A shared library without the entry point of a plug-in. */
#include "mote/base/kernel.h"

MOTE_PLUGIN_EXPORT int something_else(void);
int something_else(void) { return MOTE_ABI_VERSION; }
