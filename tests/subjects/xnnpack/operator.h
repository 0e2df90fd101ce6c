// SPDX-License-Identifier: Apache-2.0
// XNNPACK's operators are created when a call is planned, so that the call is declined if XNNPACK
// refuses; those that hold weights are tried there with weights of 0 and created again when they
// run. All tensors are copies: XNNPACK may read, but not write, XNN_EXTRA_BYTES beyond any of them.
#pragma once

#include <fmt/format.h>
#include <xnnpack.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "support/subject.h"

namespace mote::subject::xnn {

using Half = std::uint16_t;
template <typename T>
constexpr DType kDType = DType::f16;
template <>
constexpr DType kDType<float> = DType::f32;

constexpr float kInf = std::numeric_limits<float>::infinity();

using Handle = std::shared_ptr<xnn_operator>;

/// Calls create(xnn_operator_t*); declines if its status is no success.
template <typename Create>
Handle make(const Create& create) {
  xnn_operator_t raw = nullptr;
  const xnn_status status = create(&raw);
  if (status != xnn_status_success)
    decline(fmt::format("XNNPACK makes no such operator (status {})", static_cast<int>(status)));
  return {raw, [](xnn_operator_t op) { xnn_delete_operator(op); }};
}

inline void must(xnn_status status) {
  if (status != xnn_status_success)
    throw std::runtime_error(
        fmt::format("XNNPACK fails when it is run (status {})", static_cast<int>(status)));
}

/// Passes the tensors by setup(op); then runs the operator in this thread.
template <typename Setup>
void run(const Handle& op, const Setup& setup) {
  must(setup(op.get()));
  must(xnn_run_operator(op.get(), nullptr));
}

template <typename T>
constexpr std::size_t kSpare = XNN_EXTRA_BYTES / sizeof(T);

/// Returns a row-major copy that may be read beyond its end.
template <typename T>
std::vector<T> input(const Operand& x) {
  return packed<T>(x, kSpare<T>);
}

/// Row-major memory for a result that may be read beyond its end; store() copies it to y.
template <typename T>
class Result {
 public:
  explicit Result(const Operand& y) : y_(y), values_(all(), kGuard) {}
  T* data() { return values_.data(); }
  void store() const {
    for (std::size_t k = values_.size() - kSpare<T>; k < values_.size(); ++k)
      if (values_[k] != kGuard) throw std::runtime_error("XNNPACK wrote beyond its result");
    unpack(values_.data(), y_);
  }

 private:
  static constexpr T kGuard = 77;
  std::size_t all() const { return static_cast<std::size_t>(count(y_)) + kSpare<T>; }
  Operand y_;
  std::vector<T> values_;
};

inline std::size_t size(std::int64_t extent) { return static_cast<std::size_t>(extent); }
inline std::uint32_t u32(std::int64_t extent) { return static_cast<std::uint32_t>(extent); }

}  // namespace mote::subject::xnn
