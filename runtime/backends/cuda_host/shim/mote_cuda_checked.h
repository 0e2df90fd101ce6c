// SPDX-License-Identifier: Apache-2.0
// Checks for errors that a GPU traps and a CPU ignores: an access at an address that is no multiple
// of the type's alignment, and an index outside of an array. A source of kernels that is compiled
// with -fsanitize=alignment,bounds -fno-sanitize-recover=all includes this once: it defines the
// functions that compilers call then, so that no library of theirs is linked, and hides them from
// that library.
// NOLINTBEGIN: the names are the compilers'
#ifndef MOTE_CUDA_CHECKED_H
#define MOTE_CUDA_CHECKED_H

#include <stdio.h>
#include <stdlib.h>

#include "mote_cuda_host.h"

#define MOTE_HOST_UNCHECKED __attribute__((no_sanitize("undefined")))
#define MOTE_HOST_CALLED_BY_COMPILERS \
  extern "C" __attribute__((visibility("hidden"), used, noreturn)) MOTE_HOST_UNCHECKED

// The layout in which g++ and clang++ describe a location in the source.
struct mote_host_place {
  const char* file;
  uint32_t line, column;
};
struct mote_host_type {
  uint16_t kind;  // 0: an integer
  uint16_t info;  // for an integer: whether it has a sign, and twice the logarithm of its bits
  char name[1];   // the name in quotation marks
};
struct mote_host_access {
  mote_host_place at;
  const mote_host_type* type;
  unsigned char log_alignment, kind;
};
struct mote_host_index {
  mote_host_place at;
  const mote_host_type *array, *index;
};

// The thread ends here; a launcher, which is no thread of a block, aborts.
__attribute__((noreturn)) MOTE_HOST_UNCHECKED static void mote_host_refuse(
    const mote_host_place& at, const char* what) {
  const char* file = at.file != nullptr ? strrchr(at.file, '/') : nullptr;
  char text[512];
  if (at.line == 0)
    snprintf(text, sizeof text, "%s", what);
  else
    snprintf(text, sizeof text, "%s in line %u of %s", what, at.line,
             file != nullptr ? file + 1 : at.file);
  if (mote_host != nullptr) mote_host->fail(text);
  fprintf(stderr, "mote: outside of a kernel: %s\n", text);
  abort();
}

// Returns the name without the words that g++ puts before it.
MOTE_HOST_UNCHECKED static const char* mote_host_name_of(const mote_host_type& type) {
  const char* name = type.name + 1;
  for (const char* word : {"const ", "struct "})
    if (strncmp(name, word, strlen(word)) == 0) name += strlen(word);
  return name;
}

MOTE_HOST_CALLED_BY_COMPILERS void __ubsan_handle_type_mismatch_v1_abort(void* data, void*) {
  const mote_host_access& a = *static_cast<const mote_host_access*>(data);
  char what[384];
  snprintf(what, sizeof what, "reads or writes '%.256s at an address that %u doesn't divide",
           mote_host_name_of(*a.type), 1u << a.log_alignment);
  mote_host_refuse(a.at, what);
}

MOTE_HOST_CALLED_BY_COMPILERS void __ubsan_handle_out_of_bounds_abort(void* data, void* value) {
  const mote_host_index& a = *static_cast<const mote_host_index*>(data);
  const int unused = 64 - (1 << (a.index->info >> 1));
  uint64_t bits = reinterpret_cast<uint64_t>(value) << unused;
  char what[384];
  if ((a.index->info & 1) != 0)
    snprintf(what, sizeof what, "index %lld is outside of '%.256s",
             static_cast<long long>(bits) >> unused, mote_host_name_of(*a.array));
  else
    snprintf(what, sizeof what, "index %llu is outside of '%.256s",
             static_cast<unsigned long long>(bits >> unused), mote_host_name_of(*a.array));
  mote_host_refuse(a.at, what);
}

#endif
// NOLINTEND
