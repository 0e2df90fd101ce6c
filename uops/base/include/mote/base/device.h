// SPDX-License-Identifier: Apache-2.0
/* The C ABI of devices, part of version 1 (C99): memory that the host's processor does not read,
 * and streams of work in it. A plug-in that has kernels for a GPU's tensors offers the GPU as well,
 * so that a program can keep tensors there. As in kernel.h, nothing throws or aborts, structs begin
 * with their size, and the functions are called from several threads at once. Each returns a
 * mote_status, and where that is not MOTE_OK writes why into message, which may be NULL, and ends
 * it by a 0 within message_bytes. */
#ifndef MOTE_BASE_DEVICE_H
#define MOTE_BASE_DEVICE_H

#include "mote/base/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mote_device {
  size_t size;      /* sizeof(mote_device) */
  const char* name; /* "cuda" */
  DLDevice device;  /* of its tensors */

  /* MOTE_OK, or MOTE_UNSUPPORTED: no driver, no GPU, or it was lost. */
  mote_status (*ready)(char* message, size_t message_bytes);

  /* Memory at a multiple of 256 bytes; bytes is not 0. MOTE_OUT_OF_MEMORY where there is none. */
  mote_status (*allocate)(size_t bytes, void** memory, char* message, size_t message_bytes);
  /* No work uses it any more. */
  mote_status (*release)(void* memory, char* message, size_t message_bytes);
  /* Bytes from `from` to `to`, of which one may be the host's (kDLCPU), after what is in the
   * stream. Both are kept, and the host's is not changed, until that is done. */
  mote_status (*copy)(void* to, DLDevice to_device, const void* from, DLDevice from_device,
                      size_t bytes, void* stream, char* message, size_t message_bytes);

  /* What mote_kernel.run takes as its stream: work in it is done in order. NULL is one as well. */
  mote_status (*create_stream)(void** stream, char* message, size_t message_bytes);
  mote_status (*destroy_stream)(void* stream, char* message, size_t message_bytes);
  /* Waits for its work, whose errors it returns. */
  mote_status (*synchronize)(void* stream, char* message, size_t message_bytes);

  /* An event stands for what was in a stream when it was recorded, which is once. */
  mote_status (*create_event)(void** event, char* message, size_t message_bytes);
  mote_status (*destroy_event)(void* event, char* message, size_t message_bytes);
  mote_status (*record)(void* event, void* stream, char* message, size_t message_bytes);
  /* What comes next in the stream waits for it; this does not. */
  mote_status (*wait)(void* stream, void* event, char* message, size_t message_bytes);
  /* This waits, and returns the errors of that work. */
  mote_status (*synchronize_event)(void* event, char* message, size_t message_bytes);
  mote_status (*is_over)(void* event, int32_t* over, char* message, size_t message_bytes);
} mote_device;

/* A plug-in that offers devices exports this under the name "mote_plugin_devices". The list stays
 * as it is until the library is closed; the next element lies devices->size bytes behind. */
typedef mote_status (*mote_plugin_devices_fn)(const mote_device** devices, int32_t* count);
MOTE_PLUGIN_EXPORT mote_status mote_plugin_devices(const mote_device** devices, int32_t* count);

#ifdef __cplusplus
}
#endif
#endif
