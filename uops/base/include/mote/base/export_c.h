// SPDX-License-Identifier: Apache-2.0
/* MOTE_API marks the declarations that the shared libraries export; all others are hidden. C++
 * headers open `namespace MOTE_API mote`, C headers mark each declaration. C99, and any C++. */
#ifndef MOTE_BASE_EXPORT_C_H
#define MOTE_BASE_EXPORT_C_H

#ifdef __cplusplus
#define MOTE_API [[gnu::visibility("default")]]
#else
#define MOTE_API __attribute__((visibility("default")))
#endif

#endif
