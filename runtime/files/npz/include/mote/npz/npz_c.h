// SPDX-License-Identifier: Apache-2.0
/* The C interface (C99) of .npz: npz.h under other names. Statuses, mote_last_error() and ownership
 * are as in mote/mote.h. */
#ifndef MOTE_NPZ_NPZ_C_H
#define MOTE_NPZ_NPZ_C_H

#include "mote/mote.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Named tensors, in the order of their names. */
typedef struct mote_npz mote_npz;

/* Reads a file. MOTE_INVALID if it is damaged or is no zip of .npy files. */
MOTE_API mote_status mote_npz_read(const char* path, mote_npz** npz);
MOTE_API void mote_npz_free(mote_npz* npz);
/* Returns 0 for NULL. */
MOTE_API size_t mote_npz_count(const mote_npz* npz);
/* Returns NULL beyond the last; the name is valid as long as npz. */
MOTE_API const char* mote_npz_name(const mote_npz* npz, size_t position);
/* Returns a view of the tensor's memory, which outlives npz. */
MOTE_API mote_status mote_npz_tensor(const mote_npz* npz, const char* name, mote_tensor** tensor);
/* Writes `count` tensors with their names, all different; deflated = 0 stores them uncompressed. */
MOTE_API mote_status mote_npz_write(const char* path, const char* const* names,
                                    const mote_tensor* const* tensors, size_t count, int deflated);

#ifdef __cplusplus
}
#endif
#endif
