// SPDX-License-Identifier: Apache-2.0
// Reads and checks a mote_call; see call.h.
#include "call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

#include "mote/base/dlpack.h"

namespace mote::backend {
namespace {

constexpr std::int64_t kIntMax = std::numeric_limits<int>::max();

const mote_param* find_param(const mote_call& call, std::string_view name) {
  for (int p = 0; p < call.param_count; ++p)
    if (name == call.params[p].name) return &call.params[p];
  return nullptr;
}

Check read_tensor(const DLTensor* tensor, const char* name, int min_rank, int max_rank,
                  Memory memory, Operand& operand) {
  if (tensor == nullptr) return invalid(fmt::format("{} is missing", name));
  const std::string text = describe(*tensor);
  if (tensor->ndim < min_rank || tensor->ndim > max_rank)
    return invalid(fmt::format("{} {} has rank {}, expected {}", name, text, tensor->ndim,
                               min_rank == max_rank ? fmt::format("{}", min_rank)
                                                    : fmt::format("{} to {}", min_rank, max_rank)));
  const std::optional<DType> dtype = from_dlpack(tensor->dtype);
  if (!dtype) return unsupported(fmt::format("{} {} has no dtype of mote's", name, text));
  if (memory == Memory::host && tensor->device.device_type != kDLCPU)
    return unsupported(fmt::format("{} {} is not in CPU memory", name, text));
  for (const std::int64_t extent : shape_of(*tensor))
    if (extent < 0) return invalid(fmt::format("{} {} has a negative extent", name, text));
  operand.name = name;
  operand.dtype = *dtype;
  operand.shape.assign(tensor->shape, tensor->shape + tensor->ndim);
  operand.strides = strides_of(*tensor);
  operand.data =
      tensor->data == nullptr ? nullptr : static_cast<char*>(tensor->data) + tensor->byte_offset;
  return {};
}

std::string short_text(const Operand& operand) {
  return fmt::format("{} {}[{}]", operand.name, name(operand.dtype), fmt::join(operand.shape, ","));
}

}  // namespace

Refusal invalid(std::string text) { return {MOTE_INVALID, std::move(text)}; }
Refusal unsupported(std::string text) { return {MOTE_UNSUPPORTED, std::move(text)}; }

std::string Operand::text() const {
  return fmt::format("{} with strides {}", short_text(*this), fmt::join(strides, ","));
}

Check check_counts(const mote_call& call, int required, int allowed, int outputs) {
  if (call.input_count < required || call.input_count > allowed)
    return invalid(
        fmt::format("{} inputs, expected {} to {}", call.input_count, required, allowed));
  if (call.output_count != outputs)
    return invalid(fmt::format("{} outputs, expected {}", call.output_count, outputs));
  return {};
}

bool has_input(const mote_call& call, int index) {
  return index < call.input_count && call.inputs[index] != nullptr;
}

Check read_input(const mote_call& call, int index, const char* name, int min_rank, int max_rank,
                 Operand& operand, Memory memory) {
  return read_tensor(call.inputs[index], name, min_rank, max_rank, memory, operand);
}

Check read_output(const mote_call& call, int index, const char* name, int min_rank, int max_rank,
                  Operand& operand, Memory memory) {
  return read_tensor(call.outputs[index], name, min_rank, max_rank, memory, operand);
}

Check check_dtypes(std::initializer_list<const Operand*> operands,
                   std::initializer_list<DType> accepted) {
  const Operand& first = **operands.begin();
  if (std::ranges::find(accepted, first.dtype) == accepted.end()) {
    std::string names;
    for (const DType dtype : accepted)
      names += (names.empty() ? "" : " or ") + std::string(mote::name(dtype));
    return unsupported(fmt::format("{} is not {}", short_text(first), names));
  }
  for (const Operand* operand : operands)
    if (operand->dtype != first.dtype)
      return invalid(
          fmt::format("element types differ: {} and {}", short_text(first), short_text(*operand)));
  return {};
}

Check check_shape(const Operand& operand, const std::vector<std::int64_t>& expected) {
  if (operand.shape == expected) return {};
  return invalid(
      fmt::format("{}, expected shape [{}]", short_text(operand), fmt::join(expected, ",")));
}

Check check_extents(std::initializer_list<const Operand*> operands) {
  for (const Operand* operand : operands)
    for (const std::int64_t extent : operand->shape)
      if (extent > kIntMax)
        return unsupported(fmt::format("{}: an extent above {} does not fit into 32 bits",
                                       short_text(*operand), kIntMax));
  return {};
}

Check check_param_names(const mote_call& call, std::initializer_list<const char*> known) {
  return check_param_names(call, std::span(known.begin(), known.size()));
}

Check check_param_names(const mote_call& call, std::span<const char* const> known) {
  for (int p = 0; p < call.param_count; ++p) {
    const std::string_view given = call.params[p].name;
    if (std::none_of(known.begin(), known.end(), [&](const char* n) { return given == n; }))
      return invalid(fmt::format("unknown parameter {}, known: {}", given, fmt::join(known, ", ")));
  }
  return {};
}

Check read_real(const mote_call& call, const char* name, double& value) {
  const mote_param* param = find_param(call, name);
  if (param == nullptr) return {};
  value = param->is_real != 0 ? param->real : static_cast<double>(param->integer);
  return {};
}

Check read_integer(const mote_call& call, const char* name, std::int64_t minimum,
                   std::int64_t& value) {
  const mote_param* param = find_param(call, name);
  if (param == nullptr) return {};
  if (param->is_real != 0)
    return invalid(fmt::format("parameter {} is {}, expected an integer", name, param->real));
  if (param->integer < minimum || param->integer > kIntMax)
    return invalid(fmt::format("parameter {} is {}, expected {} to {}", name, param->integer,
                               minimum, kIntMax));
  value = param->integer;
  return {};
}

mote_status report(const mote_call& call, const Check& check) {
  if (!check) return MOTE_OK;
  if (call.message != nullptr && call.message_bytes > 0) {
    const std::size_t length = std::min(check->text.size(), call.message_bytes - 1);
    std::memcpy(call.message, check->text.data(), length);
    call.message[length] = '\0';
  }
  return check->status;
}

mote_status guarded(const mote_call& call, const std::function<Check()>& body) {
  try {
    return report(call, body());
  } catch (const std::bad_alloc&) {
    return report(call, Refusal{MOTE_OUT_OF_MEMORY, "out of memory"});
  } catch (const std::exception& error) {
    return report(call, Refusal{MOTE_FAILED, error.what()});
  }
}

std::size_t bytes_of_elements(const DLTensor& t) {
  return static_cast<std::size_t>(element_count(t)) * (t.dtype.bits / 8U);
}

bool is_mostly_gaps(std::size_t copied, std::size_t elements, std::size_t times) {
  constexpr std::size_t kSmall = std::size_t{256} << 20U;
  return copied > kSmall && copied / times > elements;
}

}  // namespace mote::backend
