// SPDX-License-Identifier: Apache-2.0
// The shared part of the plug-ins for other people's libraries: reading a call, strided views, and
// the table of kernels. A kernel is a function that checks a call and returns the work of running
// it, so that can_run and run cannot disagree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mote/base/kernel.h"
#include "support/call.h"

namespace mote::subject {

using backend::Operand;

struct Declined {
  backend::Refusal refusal;
};
[[noreturn]] void decline(std::string why);  ///< for a legal call that this library does not take

class Call {
 public:
  explicit Call(const mote_call& call) : call_(call) {}

  std::string_view op() const { return call_.op; }
  /// Returns an operand of exactly that rank, with leading axes of extent 1 added.
  Operand input(int k, int rank) const;
  Operand output(int k, int rank) const;
  bool has_input(int k) const { return backend::has_input(call_, k); }
  std::int64_t integer(const std::string& name, std::int64_t otherwise) const;
  double real(const char* name, double otherwise) const;

 private:
  const mote_call& call_;
};

/// Declines a call whose operands are not all of one of these dtypes.
void need(std::initializer_list<DType> accepted, std::initializer_list<const Operand*> operands);
/// Declines an operand with an axis of extent 0.
void need_elements(std::initializer_list<const Operand*> operands);

/// Returns the operand with its axes in another order.
Operand permuted(const Operand& operand, std::initializer_list<std::size_t> order);
/// Repeats axes of extent 1 to `shape`, by strides of 0.
Operand broadcast(const Operand& operand, const std::vector<std::int64_t>& shape);
std::int64_t count(const Operand& operand);
bool is_row_major(const Operand& operand);  ///< without gaps

/// Returns the element at distance `offset` from the first.
template <typename T>
T* at(const Operand& operand, std::int64_t offset = 0) {
  return operand.data == nullptr ? nullptr : static_cast<T*>(operand.data) + offset;
}

/// Calls visit(offset) for each element, the last axis innermost.
void for_each_offset(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                     const std::function<void(std::int64_t)>& visit);

/// Returns a row-major copy with `spare` more elements, which are 0.
template <typename T>
std::vector<T> packed(const Operand& from, std::size_t spare = 0) {
  std::vector<T> values;
  values.reserve(static_cast<std::size_t>(count(from)) + spare);
  for_each_offset(from.shape, from.strides,
                  [&](std::int64_t offset) { values.push_back(*at<const T>(from, offset)); });
  values.resize(values.size() + spare);
  return values;
}

/// Stores row-major elements to an operand.
template <typename T>
void unpack(const T* values, const Operand& to) {
  for_each_offset(to.shape, to.strides,
                  [&](std::int64_t offset) { *at<T>(to, offset) = *values++; });
}

using Work = std::function<void()>;

/// The promises of a kernel in addition to equal bits for equal calls.
struct Promise {
  const char* form = "direct";
  std::span<const mote_op_pair> in_place = {};
  std::span<const mote_accuracy> functions = {};
  mote_accumulator accumulator = MOTE_ACC_NATIVE;
  bool flushes_denormals = false;
  bool ignores_nan = false;
};

struct Kernel {
  const char* op;
  Work (*plan)(const Call&);
  Promise promise = {};
};

/// A backend; kernels with different promises about one op for different dtypes need different
/// ones.
struct Backend {
  const char* name;
  std::span<const Kernel> kernels;  ///< must outlive the plug-in
};

/// Gives the plug-in these backends, at most two.
mote_status offer(mote_plugin& plugin, const std::string& version,
                  std::initializer_list<Backend> backends);

}  // namespace mote::subject
