// SPDX-License-Identifier: Apache-2.0
// Reads a mote_call: operands, parameters, and the reasons for which a call is declined. A check
// returns the refusal, or nothing if all is well; no data is read here.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mote/base/dtype.h"
#include "mote/base/kernel.h"

namespace mote::backend {

struct Refusal {
  mote_status status;
  std::string text;
};
using Check = std::optional<Refusal>;

Refusal invalid(std::string text);      ///< the call is not legal for the op
Refusal unsupported(std::string text);  ///< legal, but not for this backend

/// One tensor of the call; `data` has the byte offset applied and may be null in can_run.
struct Operand {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  void* data = nullptr;

  std::string text() const;  ///< "a f32[3,4] with strides 4,1"
};

/// Checks the counts of inputs and outputs; the inputs beyond `required` may be missing or NULL.
Check check_counts(const mote_call& call, int required, int allowed, int outputs);
bool has_input(const mote_call& call, int index);
/// The memory that a tensor may be in.
enum class Memory : std::uint8_t { host, any };
/// Reads a tensor whose rank is in [min_rank, max_rank].
Check read_input(const mote_call& call, int index, const char* name, int min_rank, int max_rank,
                 Operand& operand, Memory memory = Memory::host);
Check read_output(const mote_call& call, int index, const char* name, int min_rank, int max_rank,
                  Operand& operand, Memory memory = Memory::host);
/// Checks that all have one dtype, which is one of those accepted.
Check check_dtypes(std::initializer_list<const Operand*> operands,
                   std::initializer_list<DType> accepted);
Check check_shape(const Operand& operand, const std::vector<std::int64_t>& expected);
/// Checks that every extent fits into 32 bits.
Check check_extents(std::initializer_list<const Operand*> operands);

Check check_param_names(const mote_call& call, std::span<const char* const> known);
Check check_param_names(const mote_call& call, std::initializer_list<const char*> known);
/// Reads a real; leaves the value unchanged if the call does not give one.
Check read_real(const mote_call& call, const char* name, double& value);
/// Reads an integer in [minimum, 2^31); leaves the value unchanged if the call does not give one.
Check read_integer(const mote_call& call, const char* name, std::int64_t minimum,
                   std::int64_t& value);

/// Writes the refusal, if any, to the call's message, and returns the status.
mote_status report(const mote_call& call, const Check& check);
/// Runs the body; an exception becomes a status and a message, as no function may throw across C.
mote_status guarded(const mote_call& call, const std::function<Check()>& body);

/// Returns the bytes of the tensor's elements, without the gaps between them.
std::size_t bytes_of_elements(const DLTensor& t);
/// Returns true if a copy is large and has more than `times` the bytes of the elements in it: it
/// would consist of gaps.
bool is_mostly_gaps(std::size_t copied, std::size_t elements, std::size_t times);

}  // namespace mote::backend
