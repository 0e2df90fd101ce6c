// SPDX-License-Identifier: Apache-2.0
// Helpers of the functions of mote/mote.h: no exception leaves these functions, and its message is
// kept.
#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "mote/mote.h"
#include "mote/runtime/status.h"
#include "mote/runtime/tensor.h"

namespace mote::c {

/// Keeps the text for mote_last_error(), truncated if it is too long, and returns the status. Other
/// libraries of mote use it too.
MOTE_API mote_status fail(mote_status status, const char* function, const char* what) noexcept;

/// Runs the body. Returns MOTE_OK, or the status of the exception that it threw.
template <typename Body>
mote_status guarded(const char* function, const Body& body) noexcept {
  try {
    body();
    return MOTE_OK;
  } catch (const StatusError& e) {
    return fail(e.status(), function, e.what());
  } catch (const Error& e) {
    return fail(MOTE_INVALID, function, e.what());
  } catch (const std::bad_alloc&) {
    return fail(MOTE_OUT_OF_MEMORY, function, "out of memory");
  } catch (const std::exception& e) {
    return fail(MOTE_FAILED, function, e.what());
  } catch (...) {
    return fail(MOTE_FAILED, function, "an exception of unknown type");
  }
}

/// Returns the object behind a pointer that must not be null.
template <typename T>
T& given(T* pointer, const char* what) {
  if (pointer == nullptr) throw StatusError(MOTE_INVALID, std::string(what) + " is NULL");
  return *pointer;
}

/// Checks that the lists that the struct points to are its own: a program sees the struct and may
/// change or copy it.
template <typename Handle>
Handle* checked(Handle* handle) {
  if (handle->dl.shape != handle->shape || handle->dl.strides != handle->strides ||
      handle->dl.ndim < 0 || handle->dl.ndim > MOTE_MAX_AXES)
    throw StatusError(MOTE_INVALID, "the mote_tensor is none that mote made, or was changed");
  return handle;
}

// A Tensor is its mote_tensor (asserted in tensor.h), so a handle is a pointer to a Tensor.
inline Tensor& tensor_of(mote_tensor* handle) {
  return *reinterpret_cast<Tensor*>(checked(&given(handle, "tensor")));
}
inline const Tensor& tensor_of(const mote_tensor* handle) {
  return *reinterpret_cast<const Tensor*>(checked(&given(handle, "tensor")));
}
inline mote_tensor* handle_of(const Tensor& tensor) {
  return reinterpret_cast<mote_tensor*>(new Tensor(tensor));
}

inline Allocator allocator_of(const mote_allocator& a) {
  return {.allocate = a.allocate, .release = a.release, .context = a.context};
}

/// Returns the options up to the size that they state; later fields are 0. Throws StatusError below
/// `least` bytes.
template <typename Options>
Options sized(const Options& options, std::size_t least = sizeof(Options)) {
  if (options.size < least)
    throw StatusError(MOTE_INVALID, "options.size must be at least " + std::to_string(least) +
                                        ", got " + std::to_string(options.size));
  Options known = {};
  std::memcpy(&known, &options, std::min(options.size, sizeof(Options)));
  return known;
}

/// Throws StatusError for an element type that mote does not have.
DType dtype_of(DLDataType dtype);

/// Throws StatusError "relu: has 1 inputs, got 7" if count > most.
void check_count(const mote_op_definition& op, std::size_t count, std::int32_t most,
                 const char* what);

/// The tensors of a call of the op as the runtime takes them; null stands for one that is left out.
/// No list is read beyond the number that the op has.
struct Operands {
  Operands(const mote_op_definition& op, const mote_tensor* const* given_inputs,
           std::size_t input_count, mote_tensor* const* given_outputs, std::size_t output_count);
  std::vector<const Tensor*> inputs;
  std::vector<Tensor*> outputs;
};

}  // namespace mote::c
