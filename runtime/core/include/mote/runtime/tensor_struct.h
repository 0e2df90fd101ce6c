// SPDX-License-Identifier: Apache-2.0
/* The bytes of a tensor, for C99 and for programs that share memory with mote without a copy. A
 * mote_tensor begins with a DLTensor, so a pointer to one is a pointer to the other. A mote_image
 * is the same bytes with the names of an image; a mote_tensor of three axes (rows, columns,
 * channels) may be cast to it and back. Extents and strides count elements. */
#ifndef MOTE_RUNTIME_TENSOR_STRUCT_H
#define MOTE_RUNTIME_TENSOR_STRUCT_H

#include <dlpack/dlpack.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MOTE_MAX_AXES 12

/* Reference-counted memory that tensors share. NULL: the tensor does not own its memory. */
typedef struct mote_storage mote_storage;

/* dl.shape and dl.strides point to the two arrays that follow it; entries from dl.ndim on are 0. */
typedef struct mote_tensor {
  DLTensor dl;
  int64_t shape[MOTE_MAX_AXES];
  int64_t strides[MOTE_MAX_AXES];
  mote_storage* storage;
} mote_tensor;

/* Channel k of pixel (r, c) is at data + byte_offset + element size * (r*step + c*column_step +
 * k*channel_step). may_alias: the same memory is read as a mote_tensor. */
typedef struct __attribute__((__may_alias__)) mote_image {
  void* data;
  DLDevice device;
  int32_t axes; /* 3 */
  DLDataType dtype;
  int64_t* extents; /* &rows */
  int64_t* strides; /* &step */
  uint64_t byte_offset;
  int64_t rows;
  int64_t cols;
  int64_t channels;
  int64_t no_extents[MOTE_MAX_AXES - 3];
  int64_t step; /* elements from one row to the next */
  int64_t column_step;
  int64_t channel_step;
  int64_t no_strides[MOTE_MAX_AXES - 3];
  mote_storage* storage;
} mote_image;

#ifdef __cplusplus
}
#endif
#endif
