// SPDX-License-Identifier: Apache-2.0
// Declares the parts that the fake driver and the fake libraries share: calls that fail on demand,
// and memory.
#pragma once

#include <cstddef>
#include <cstdint>

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace fake {

/// CUDA_ERROR_OUT_OF_MEMORY, which the libraries have statuses of their own for.
constexpr int kOutOfMemory = 2;

/// Counts a call; the driver's status that it fails with, or 0.
int counted();
/// The same for a call that wants the process that called cuInit.
int counted_in_process();
/// The same for a call that wants a context too.
int counted_in_context();
/// Returns true if these bytes are the fake GPU's memory.
bool is_allocated(std::uint64_t at, std::size_t bytes);
/// Returns true if these bytes may be workspace, which the libraries want aligned to 256.
bool is_workspace(const void* at, std::size_t bytes);
/// Returns true if the stream was made and is not destroyed yet; the default one always exists.
bool is_stream(const void* stream);
/// Descriptors that are made and not destroyed count as left behind.
void count_descriptor(int more);

/// A descriptor of a library, made and destroyed by its pointer.
template <typename T>
void make(T** made) {
  *made = new T();
  count_descriptor(1);
}
template <typename T>
void unmake(T* made) {
  delete made;
  count_descriptor(-1);
}

}  // namespace fake
