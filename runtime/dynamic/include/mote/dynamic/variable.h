// SPDX-License-Identifier: Apache-2.0
// A variable of a dynamic graph: a tensor that commands give and take (dynamic_graph.h). Copies of
// a Variable are the same variable. It has a value, which never changes; to write to a variable
// gives it another value and raises its version, so that whatever needs the old value still finds
// it.
//
//   y = x * y;            // y is another variable now
//   w -= 0.1 * gw;        // w is the same variable, with another value
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "mote/base/export.h"
#include "mote/runtime/command.h"
#include "mote/runtime/tensor.h"
#include "mote/symbolic/view.h"

namespace MOTE_API mote {

class DynamicGraph;

namespace detail {
class Operators;
}  // namespace detail
namespace trace {
struct Handle;
struct State;
}  // namespace trace

class Variable {
 public:
  Variable() = default;  ///< none: an optional tensor that is left out
  Variable(const Variable& other) noexcept;
  Variable(Variable&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Variable& operator=(const Variable& other) noexcept;
  Variable& operator=(Variable&& other) noexcept;
  ~Variable();

  explicit operator bool() const { return handle_ != nullptr; }
  /// True if both are the same variable.
  friend bool operator==(const Variable& a, const Variable& b) { return a.handle_ == b.handle_; }

  // All functions below throw StatusError MOTE_INVALID if there is no variable.

  DynamicGraph graph() const;
  TensorForm form() const;
  /// Returns the value, which shares memory with the variable: it must not be written to (write()).
  /// What is pending is computed first, and what a checkpoint has dropped is computed again. Throws
  /// what the ops throw that are computed now.
  Tensor value() const;
  /// Returns the value of a tensor of one element. Throws StatusError for any other.
  double item() const;
  /// Grows with each write to the variable, or to one that it is a view of.
  std::uint64_t version() const;
  /// True if gradients with respect to what it was computed from, or to itself, can be asked for.
  bool is_traced() const;
  /// True if the value is not computed yet.
  bool is_pending() const;

  /// Returns a variable of the same value that is no function of anything: no gradient flows
  /// through it.
  Variable detach() const;

  // Views: variables that have elements of this one. A write to either is seen in the other.
  Variable slice(int axis, std::int64_t begin, std::int64_t count, std::int64_t step = 1) const;
  Variable select(int axis, std::int64_t index) const;
  Variable permute(const AxisList& order) const;
  Variable broadcast_to(const AxisList& shape) const;
  Variable reshape(const AxisList& shape) const;

  /// Gives the variable the value of another one of the same dtype and shape. Throws StatusError
  /// if forms differ, and for a view of it that repeats elements (broadcast_to).
  void assign(const Variable& value);
  /// Gives the variable, which is no view, another tensor, whose memory it shares. It is computed
  /// from nothing then; it is traced if it was.
  void set(const Tensor& value);

 private:
  friend class DynamicGraph;
  friend struct trace::State;
  friend class detail::Operators;
  explicit Variable(trace::Handle* handle) : handle_(handle) {}
  trace::State& state(const char* what) const;
  Variable view(const ViewStep& step) const;
  trace::Handle* handle_ = nullptr;
};

/// An input of a command: a variable, or nothing where an optional input is left out.
class VariableRef {
 public:
  VariableRef() = default;
  VariableRef(const Variable& variable) : variable_(&variable) {}
  const Variable* get() const { return variable_ == nullptr || !*variable_ ? nullptr : variable_; }

 private:
  const Variable* variable_ = nullptr;
};

// Element by element, with NumPy's broadcasting. A number is one of the variable's dtype. The left
// side of a compound assignment keeps its dtype and shape.
Variable operator+(const Variable& x, const Variable& y);
Variable operator-(const Variable& x, const Variable& y);
Variable operator*(const Variable& x, const Variable& y);
Variable operator/(const Variable& x, const Variable& y);
Variable operator-(const Variable& x);
Variable operator+(const Variable& x, double y);
Variable operator-(const Variable& x, double y);
Variable operator*(const Variable& x, double y);
Variable operator/(const Variable& x, double y);
Variable operator+(double x, const Variable& y);
Variable operator-(double x, const Variable& y);
Variable operator*(double x, const Variable& y);
Variable operator/(double x, const Variable& y);
Variable& operator+=(Variable& x, const Variable& y);
Variable& operator-=(Variable& x, const Variable& y);
Variable& operator*=(Variable& x, const Variable& y);
Variable& operator/=(Variable& x, const Variable& y);
Variable& operator+=(Variable& x, double y);
Variable& operator-=(Variable& x, double y);
Variable& operator*=(Variable& x, double y);
Variable& operator/=(Variable& x, double y);

}  // namespace mote
