// SPDX-License-Identifier: Apache-2.0
/* Reads and writes .npz files from C99. */
#include <stdio.h>
#include <string.h>

#include "mote/npz/npz_c.h"

int main(void) {
  const char* const path = "npz_consumer.npz";
  const char* const names[1] = {"x"};
  const int64_t shape[1] = {3};
  const int64_t index[1] = {2};
  const mote_tensor* tensors[1];
  double value = 0;
  DLDataType f32;
  mote_tensor *x = NULL, *read = NULL;
  mote_npz* npz = NULL;
  int works = mote_dtype("f32", &f32) == MOTE_OK &&
              mote_tensor_create(f32, 1, shape, &x) == MOTE_OK &&
              mote_tensor_fill_real(x, 2.5) == MOTE_OK;
  tensors[0] = x;
  works = works && mote_npz_write(path, names, tensors, 1, 1) == MOTE_OK &&
          mote_npz_read(path, &npz) == MOTE_OK && mote_npz_count(npz) == 1 &&
          strcmp(mote_npz_name(npz, 0), "x") == 0 && mote_npz_tensor(npz, "x", &read) == MOTE_OK &&
          mote_tensor_real_at(read, index, &value) == MOTE_OK && value == 2.5;
  if (!works) printf("failed: %s\n", mote_last_error());
  works = mote_npz_read("nowhere.npz", &npz) == MOTE_FAILED && works;
  works = strstr(mote_last_error(), "nowhere.npz") != NULL &&
          works; /* the error comes from another library */
  mote_npz_free(npz);
  mote_tensor_free(read);
  mote_tensor_free(x);
  remove(path);
  printf(works ? "npz: all of it works\n" : "npz: failed\n");
  return works ? 0 : 1;
}
