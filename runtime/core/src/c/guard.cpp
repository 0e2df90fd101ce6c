// SPDX-License-Identifier: Apache-2.0
// The version, and the last error of each thread.
#include "c/guard.h"

#include <array>
#include <cstdio>
#include <memory>
#include <new>
#include <optional>

#include "mote/base/dlpack.h"

namespace mote::c {
namespace {

using Text = std::array<char, 1024>;

/// The message, allocated with the thread's first error and kept: later ones need no memory. The
/// variable itself is small, since a library that is loaded late has little room for such variables
/// (CMakeLists.txt).
thread_local std::unique_ptr<Text> last_error;
thread_local bool lacks_memory = false;  ///< the message could not be allocated

}  // namespace

mote_status fail(mote_status status, const char* function, const char* what) noexcept {
  if (!last_error) last_error.reset(new (std::nothrow) Text{});
  lacks_memory = !last_error;
  if (last_error) std::snprintf(last_error->data(), last_error->size(), "%s: %s", function, what);
  return status;
}

DType dtype_of(DLDataType dtype) {
  const std::optional<DType> known = from_dlpack(dtype);
  if (!known) throw StatusError(MOTE_INVALID, "the DLDataType is none of mote's dtypes");
  return *known;
}

void check_count(const mote_op_definition& op, std::size_t count, std::int32_t most,
                 const char* what) {
  if (count > static_cast<std::size_t>(most))
    throw StatusError(MOTE_INVALID, std::string(op.name) + ": has " + std::to_string(most) + " " +
                                        what + ", got " + std::to_string(count));
}

Operands::Operands(const mote_op_definition& op, const mote_tensor* const* given_inputs,
                   std::size_t input_count, mote_tensor* const* given_outputs,
                   std::size_t output_count) {
  check_count(op, input_count, op.input_count, "inputs");
  check_count(op, output_count, op.output_count, "outputs");
  if (input_count > 0) given(given_inputs, "inputs");
  if (output_count > 0) given(given_outputs, "outputs");
  inputs.reserve(input_count);
  outputs.reserve(output_count);
  for (const mote_tensor* const handle : std::span(given_inputs, input_count))
    inputs.push_back(handle != nullptr ? &tensor_of(handle) : nullptr);
  for (mote_tensor* const handle : std::span(given_outputs, output_count))
    outputs.push_back(handle != nullptr ? &tensor_of(handle) : nullptr);
}

}  // namespace mote::c

const char* mote_version(void) { return MOTE_VERSION; }

const char* mote_last_error(void) {
  if (mote::c::lacks_memory) return "there is no memory for the message";
  return mote::c::last_error ? mote::c::last_error->data() : "";
}
