// SPDX-License-Identifier: Apache-2.0
#include "call_copy.h"

#include <cstring>
#include <new>

#include "mote/base/error.h"

namespace mote::isolate {
namespace {

constexpr std::size_t kAlignment = alignof(std::max_align_t);
constexpr std::size_t kMessageBytes = 1024;

/// Allocates memory from the front.
class Bump {
 public:
  explicit Bump(std::span<char> left) : left_(left) {}

  template <typename T>
  T* take(std::size_t count) {
    const std::size_t bytes =                 // T may be a pointer
        (count * sizeof(T) + kAlignment - 1)  // NOLINT(bugprone-sizeof-expression)
        / kAlignment * kAlignment;
    if (bytes > left_.size()) throw Error("isolation: the description of a call is too long");
    char* taken = left_.data();
    left_ = left_.subspan(bytes);
    return reinterpret_cast<T*>(taken);
  }

  template <typename T>
  T* copy(const T* from, std::size_t count) {
    if (from == nullptr) return nullptr;
    T* to = take<T>(count);
    std::memcpy(to, from, count * sizeof(T));
    return to;
  }

  const char* text(const char* from) { return copy(from, std::strlen(from) + 1); }

  DLTensor* tensor(const DLTensor* from) {
    DLTensor* to = copy(from, 1);
    if (to == nullptr) return nullptr;
    const auto rank = static_cast<std::size_t>(from->ndim);
    to->shape = copy(from->shape, rank);
    to->strides = copy(from->strides, rank);
    return to;
  }

 private:
  std::span<char> left_;
};

}  // namespace

mote_call* copy_call(const mote_call& call, std::span<char> to) {
  Bump bump(to);
  mote_call* copy = bump.copy(&call, 1);
  copy->op = bump.text(call.op);
  const auto input_count = static_cast<std::size_t>(call.input_count);
  const auto output_count = static_cast<std::size_t>(call.output_count);
  const auto param_count = static_cast<std::size_t>(call.param_count);
  auto** inputs = bump.take<const DLTensor*>(input_count);
  for (std::size_t k = 0; k < input_count; ++k) inputs[k] = bump.tensor(call.inputs[k]);
  auto** outputs = bump.take<DLTensor*>(output_count);
  for (std::size_t k = 0; k < output_count; ++k) outputs[k] = bump.tensor(call.outputs[k]);
  mote_param* params = bump.copy(call.params, param_count);
  for (std::size_t k = 0; k < param_count; ++k) params[k].name = bump.text(call.params[k].name);
  copy->inputs = inputs;
  copy->outputs = outputs;
  copy->params = params;
  copy->message = bump.take<char>(kMessageBytes);
  copy->message_bytes = kMessageBytes;
  *copy->message = '\0';
  return copy;
}

}  // namespace mote::isolate
