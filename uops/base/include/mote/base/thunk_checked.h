// SPDX-License-Identifier: Apache-2.0
/* Provides the parts of a thunk that call the typed function, for a call that was checked: nothing
 * is checked again (C99). It is the end of mote/base/thunk.h, which includes it. */
#ifndef MOTE_BASE_THUNK_CHECKED_H
#define MOTE_BASE_THUNK_CHECKED_H

#ifndef MOTE_BASE_THUNK_H
#error "include mote/base/thunk.h, which includes this"
#endif

/* Gradients have many operands. With MOTE_SMALL_THUNKS, what reads one is a function that is
 * called.
 */
#if defined(MOTE_SMALL_THUNKS) && defined(__GNUC__)
#define MOTE_READS_OPERAND static __attribute__((noinline, unused))
#else
#define MOTE_READS_OPERAND static inline
#endif

/* A tensor of a call that was checked: extents and strides at the rank that the op gives it. */
typedef struct mote_operand {
  void* data;
  const int64_t* extents;
  const int64_t* strides;
} mote_operand;

/* Fills room with extents and strides, where they are not those of the DLTensor. */
static inline mote_operand mote_operand_in(const DLTensor* t, int rank, uint32_t broadcast,
                                           int64_t* room) {
  mote_view view = {"", NULL, broadcast, rank, {0}, {0}};
  for (int k = 0; k < rank; k++) view.extents[k] = 1;
  mote_view_layout(&view, t);
  for (int k = 0; k < rank; k++) {
    room[k] = view.extents[k];
    room[rank + k] = view.strides[k];
  }
  const mote_operand operand = {NULL, room, room + rank};
  return operand;
}

/* Returns a tensor of a call that was checked. room has 2 * rank integers. */
MOTE_READS_OPERAND mote_operand mote_operand_of(const DLTensor* t, int rank, uint32_t broadcast,
                                                int64_t* room) {
  mote_operand operand = {NULL, t->shape, t->strides};
  int as_it_is = t->ndim == rank && t->strides != NULL;
  if (broadcast != 0)
    for (int k = 0; k < rank && as_it_is; k++)
      as_it_is = ((broadcast >> k) & 1U) == 0 || t->shape[k] != 1 || t->strides[k] == 0;
  if (!as_it_is && rank > 0) operand = mote_operand_in(t, rank, broadcast, room);
  if (t->data != NULL) operand.data = (char*)t->data + t->byte_offset;
  return operand;
}

/* Returns a parameter of a call that was checked, or NULL; it is likely to be at that index or
 * before it. */
static inline const mote_param* mote_checked_param(const mote_call* call, int32_t index,
                                                   const char* name) {
  const int32_t count = call->param_count;
  int32_t k = index < count ? index : count - 1;
  for (int32_t n = 0; n < count; n++) {
    if (strcmp(call->params[k].name, name) == 0) return &call->params[k];
    k = k > 0 ? k - 1 : count - 1;
  }
  return NULL;
}

static inline int64_t mote_checked_integer(const mote_call* call, int32_t index, const char* name,
                                           int64_t otherwise) {
  const mote_param* param = mote_checked_param(call, index, name);
  return param != NULL ? param->integer : otherwise;
}

static inline double mote_checked_real(const mote_call* call, int32_t index, const char* name,
                                       double otherwise) {
  const mote_param* param = mote_checked_param(call, index, name);
  if (param == NULL) return otherwise;
  return param->is_real ? param->real : (double)param->integer;
}

/* Returns the size with scale * size + offset = extent. */
static inline int64_t mote_checked_size(int64_t extent, int64_t scale, int64_t offset) {
  return (extent - offset) / scale;
}

/* Turns the result of the typed function into a status. */
static inline mote_status mote_checked_result(const mote_call* call,
                                              const mote_signature* signature, int result) {
  if (result == 0) return MOTE_OK;
  mote_thunk thunk = {call, signature, 1, MOTE_OK};
  mote_thunk_fail(&thunk, MOTE_OUT_OF_MEMORY, "no memory for its temporaries");
  return thunk.status;
}

#endif
