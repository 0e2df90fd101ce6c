/* What the shared libraries export: all else is hidden. C++ headers open `namespace mote MOTE_API`,
 * C headers mark each declaration. C99. */
#ifndef MOTE_BASE_EXPORT_H
#define MOTE_BASE_EXPORT_H

#define MOTE_API __attribute__((visibility("default")))

#endif
