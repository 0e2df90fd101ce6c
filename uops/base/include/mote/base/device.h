// SPDX-License-Identifier: Apache-2.0
/* Defines the C ABI of devices, part of version 1 (C99): memory that the host's processor does not
 * read, and streams of work in it. A plug-in that has kernels for a GPU's tensors offers the GPU as
 * well, so that a program can keep tensors there. As in kernel.h, nothing throws or aborts, structs
 * begin with their size, and the functions are called from several threads at once. Each returns a
 * mote_status and, if it is not MOTE_OK, writes the reason into message, which may be NULL,
 * terminated by a 0 within message_bytes. */
#ifndef MOTE_BASE_DEVICE_H
#define MOTE_BASE_DEVICE_H

#include "mote/base/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mote_device {
  size_t size;      /* sizeof(mote_device) */
  const char* name; /* "cuda" */
  DLDevice device;  /* the device of its tensors */

  /* Returns MOTE_OK, or MOTE_UNSUPPORTED: there is no driver or no GPU, or it was lost. */
  mote_status (*ready)(char* message, size_t message_bytes);

  /* Allocates memory at a multiple of 256 bytes; bytes is not 0. Returns MOTE_OUT_OF_MEMORY if
   * there is none. */
  mote_status (*allocate)(size_t bytes, void** memory, char* message, size_t message_bytes);
  /* Releases memory that no work uses any more. */
  mote_status (*release)(void* memory, char* message, size_t message_bytes);
  /* Copies bytes from `from` to `to`, one of which may be the host's (kDLCPU), after the work that
   * is in the stream. Both must stay, and the host's must not change, until the copy is done. */
  mote_status (*copy)(void* to, DLDevice to_device, const void* from, DLDevice from_device,
                      size_t bytes, void* stream, char* message, size_t message_bytes);

  /* Creates a stream for mote_kernel.run: work in it is done in order. NULL is a stream as well. */
  mote_status (*create_stream)(void** stream, char* message, size_t message_bytes);
  mote_status (*destroy_stream)(void* stream, char* message, size_t message_bytes);
  /* Waits for the stream's work, whose errors it returns. */
  mote_status (*synchronize)(void* stream, char* message, size_t message_bytes);

  /* Creates an event, which stands for the work that was in a stream when it was recorded, once. */
  mote_status (*create_event)(void** event, char* message, size_t message_bytes);
  mote_status (*destroy_event)(void* event, char* message, size_t message_bytes);
  mote_status (*record)(void* event, void* stream, char* message, size_t message_bytes);
  /* Makes later work in the stream wait for the event; the call does not wait. */
  mote_status (*wait)(void* stream, void* event, char* message, size_t message_bytes);
  /* Waits for the event, and returns the errors of its work. */
  mote_status (*synchronize_event)(void* event, char* message, size_t message_bytes);
  mote_status (*is_over)(void* event, int32_t* over, char* message, size_t message_bytes);
} mote_device;

/* A plug-in that offers devices exports this under the name "mote_plugin_devices". The list
 * stays as it is until the library is closed; an element starts devices->size bytes after the
 * one before. */
typedef mote_status (*mote_plugin_devices_fn)(const mote_device** devices, int32_t* count);
MOTE_PLUGIN_EXPORT mote_status mote_plugin_devices(const mote_device** devices, int32_t* count);

#ifdef __cplusplus
}
#endif
#endif
