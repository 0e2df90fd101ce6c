// SPDX-License-Identifier: Apache-2.0
/* The part of the C interface (mote/mote_graphs.h, which includes this) that plans memory, as
 * mote/memory/plan.h does. The rules of mote/mote.h hold. */
#ifndef MOTE_MOTE_MEMORY_H
#define MOTE_MOTE_MEMORY_H

#include "mote/mote.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mote_memory_planner {
  MOTE_PLANNER_PACKING = 0, /* the best of several packings, then a search */
  MOTE_PLANNER_SEED = 1     /* one pass that cuts each block's memory from that of others */
} mote_memory_planner;

typedef struct mote_memory_block {
  uint64_t bytes;
  uint64_t alignment; /* a power of two */
  int64_t begin;      /* the block is needed at the times begin <= t < end */
  int64_t end;
} mote_memory_block;
/* Finds an offset for each block so that blocks that are needed at one time do not overlap. `total`
 * gets the bytes of the region, `bound` a number that none can be below; both may be NULL. */
MOTE_API mote_status mote_plan_memory(const mote_memory_block* blocks, size_t count,
                                      uint64_t* offsets, uint64_t* total, uint64_t* bound);
typedef enum mote_memory_effort {
  MOTE_EFFORT_NORMAL = 0,  /* a second or two for thousands of blocks, where it is needed */
  MOTE_EFFORT_FAST = 1,    /* 100 ms */
  MOTE_EFFORT_THOROUGH = 2 /* a minute */
} mote_memory_effort;
typedef struct mote_memory_options {
  size_t size;     /* sizeof(mote_memory_options) */
  int32_t planner; /* mote_memory_planner */
  int32_t effort;  /* mote_memory_effort */
  uint64_t enough; /* a plan of at most this many bytes ends the work; 0: as few as can be found */
} mote_memory_options;
/* Finds offsets with all options. */
MOTE_API mote_status mote_plan_memory_with(const mote_memory_block* blocks, size_t count,
                                           const mote_memory_options* options, uint64_t* offsets,
                                           uint64_t* total, uint64_t* bound);
/* Returns MOTE_INVALID, with the two blocks, if blocks overlap that are needed at one time, or if
 * one is not aligned or ends beyond `total`. It shares nothing with the planners. */
MOTE_API mote_status mote_check_memory_plan(const mote_memory_block* blocks, size_t count,
                                            const uint64_t* offsets, uint64_t total);

/* Reads blocks in MiniMalloc's CSV format, and sets `count` to their number. `blocks` and `offsets`
 * may be NULL, else they have room for `room` entries; offsets are 0 if the text has none, and
 * `has_offsets`, which may be NULL, is then set to 0, else to 1. */
MOTE_API mote_status mote_memory_from_csv(const char* text, mote_memory_block* blocks,
                                          uint64_t* offsets, size_t room, size_t* count,
                                          int32_t* has_offsets);
/* Writes that format. `offsets` may be NULL. `text` gets at most `room` bytes, its 0 at the end
 * included, and may be NULL; `size` gets the number of bytes that all of it needs. */
MOTE_API mote_status mote_memory_to_csv(const mote_memory_block* blocks, size_t count,
                                        const uint64_t* offsets, char* text, size_t room,
                                        size_t* size);
/* Draws the blocks as SVG, time from left to right and offsets upwards, and gives the text as
 * mote_memory_to_csv() does. */
MOTE_API mote_status mote_memory_to_svg(const mote_memory_block* blocks, size_t count,
                                        const uint64_t* offsets, char* text, size_t room,
                                        size_t* size);

#ifdef __cplusplus
}
#endif
#endif
