// SPDX-License-Identifier: Apache-2.0
#include "mote/dynamic/variable.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "fail.h"
#include "mote/dynamic/dynamic_graph.h"
#include "state.h"

namespace mote {

using trace::fail;
using trace::Lock;
using trace::Ref;
using trace::Value;

namespace {

const Command& command_of(const char* op) {
  static const Command add("add"), sub("sub"), mul("mul"), div("div"), neg("neg");
  for (const Command* one : {&add, &sub, &mul, &div, &neg})
    if (std::string_view(one->definition().name) == op) return *one;
  throw InternalError("an operator has no op");
}

}  // namespace

Variable::Variable(const Variable& other) noexcept : handle_(other.handle_) {
  if (handle_ != nullptr) handle_->refs.fetch_add(1, std::memory_order_relaxed);
}
Variable& Variable::operator=(const Variable& other) noexcept {
  Variable copy(other);
  std::swap(handle_, copy.handle_);
  return *this;
}
Variable& Variable::operator=(Variable&& other) noexcept {
  Variable moved(std::move(other));
  std::swap(handle_, moved.handle_);
  return *this;
}
Variable::~Variable() {
  if (handle_ != nullptr) handle_->state->release(handle_);
}

trace::State& Variable::state(const char* what) const {
  if (handle_ == nullptr) fail(std::string(what) + ": there is no variable");
  return *handle_->state;
}

DynamicGraph Variable::graph() const { return DynamicGraph(&state("graph")); }

TensorForm Variable::form() const {
  trace::State& state = this->state("form");
  const Lock lock(state.mutex);
  return state.current(*handle_)->form->form;
}

Tensor Variable::value() const {
  trace::State& state = this->state("value");
  Lock lock(state.mutex);
  Value* const value = state.current(*handle_);
  const trace::Kept stays(state, std::span(&value, 1));
  state.evaluate(lock, *value);
  state.wait_for_devices(std::span(&value, 1));
  return *value->tensor;
}

double Variable::item() const {
  const Tensor tensor = value();
  if (tensor.element_count() != 1)
    fail("item: a tensor of one element is wanted, got " + describe(tensor));
  return tensor.real_at(
      AxisList(std::vector<std::int64_t>(static_cast<std::size_t>(tensor.rank()))));
}

std::uint64_t Variable::version() const {
  trace::State& state = this->state("version");
  const Lock lock(state.mutex);
  state.current(*handle_);
  return handle_->version;
}

bool Variable::is_traced() const {
  trace::State& state = this->state("is_traced");
  const Lock lock(state.mutex);
  return state.current(*handle_)->is_traced;
}

bool Variable::is_pending() const {
  trace::State& state = this->state("is_pending");
  const Lock lock(state.mutex);
  const Value& value = *state.current(*handle_);
  return !value.tensor && value.producer && value.producer->is_pending;
}

Variable Variable::detach() const {
  trace::State& state = this->state("detach");
  Lock lock(state.mutex);
  Value* const value = state.current(*handle_);
  const trace::Kept stays(state, std::span(&value, 1));
  state.evaluate(lock, *value);
  const trace::Ref<Value> detached = state.make_value(value->form, *value->tensor, false);
  detached->on_device = value->on_device;
  return state.give(detached);
}

Variable Variable::view(const ViewStep& step) const {
  trace::State& state = this->state(name(step.kind));
  const Lock lock(state.mutex);
  return state.view_of(*handle_, step);
}

Variable Variable::slice(int axis, std::int64_t begin, std::int64_t count,
                         std::int64_t step) const {
  return view({ViewKind::slice, {axis, begin, count, step}});
}
Variable Variable::select(int axis, std::int64_t index) const {
  return view({ViewKind::select, {axis, index}});
}
Variable Variable::permute(const AxisList& order) const { return view({ViewKind::permute, order}); }
Variable Variable::broadcast_to(const AxisList& shape) const {
  return view({ViewKind::broadcast, shape});
}
Variable Variable::reshape(const AxisList& shape) const { return view({ViewKind::reshape, shape}); }

void Variable::assign(const Variable& value) {
  trace::State& state = this->state("assign");
  Lock lock(state.mutex);
  const Ref<Value> given(state.operand(&value, "assign"));
  state.assign(lock, *handle_, given, "assign");
}

void Variable::set(const Tensor& value) {
  trace::State& state = this->state("set");
  const Lock lock(state.mutex);
  if (handle_->view_of) fail("set: the variable is a view of another one");
  const bool is_traced = handle_->value->is_traced;
  if (is_traced && !is_real(value.dtype()))
    fail("set: only a tensor of reals has a gradient, got " + describe(value));
  handle_->previous.reset();
  state.set_value(*handle_,
                  state.make_value(state.kernels.form_of(value.form()), value, is_traced));
}

namespace detail {

/// The common part of operators.
class Operators {
 public:
  static Variable binary(const char* op, const Variable& x, const Variable& y) {
    trace::State& state = (x ? x : y).state(op);
    Lock lock(state.mutex);
    Value* const inputs[] = {state.operand(&x, op), state.operand(&y, op)};
    return state.give(state.run(lock, command_of(op), inputs, std::nullopt)[0]);
  }
  static Variable unary(const char* op, const Variable& x) {
    trace::State& state = x.state(op);
    Lock lock(state.mutex);
    Value* const inputs[] = {state.operand(&x, op)};
    return state.give(state.run(lock, command_of(op), inputs, std::nullopt)[0]);
  }
  /// Returns the number as a constant of x's dtype.
  static Variable scalar_like(const char* op, const Variable& x, double value) {
    trace::State& state = x.state(op);
    const Lock lock(state.mutex);
    return state.give(state.scalar(state.current(*x.handle_)->form->form, value));
  }
  static Variable& update(const char* op, Variable& x, const Variable& y) {
    trace::State& state = x.state(op);
    Lock lock(state.mutex);
    Value* const inputs[] = {state.operand(&x, op), state.operand(&y, op)};
    state.run_to(lock, *x.handle_, command_of(op), inputs);
    return x;
  }
};

}  // namespace detail

using detail::Operators;

Variable operator+(const Variable& x, const Variable& y) { return Operators::binary("add", x, y); }
Variable operator-(const Variable& x, const Variable& y) { return Operators::binary("sub", x, y); }
Variable operator*(const Variable& x, const Variable& y) { return Operators::binary("mul", x, y); }
Variable operator/(const Variable& x, const Variable& y) { return Operators::binary("div", x, y); }
Variable operator-(const Variable& x) { return Operators::unary("neg", x); }
Variable operator+(const Variable& x, double y) { return x + Operators::scalar_like("add", x, y); }
Variable operator-(const Variable& x, double y) { return x - Operators::scalar_like("sub", x, y); }
Variable operator*(const Variable& x, double y) { return x * Operators::scalar_like("mul", x, y); }
Variable operator/(const Variable& x, double y) { return x / Operators::scalar_like("div", x, y); }
Variable operator+(double x, const Variable& y) { return Operators::scalar_like("add", y, x) + y; }
Variable operator-(double x, const Variable& y) { return Operators::scalar_like("sub", y, x) - y; }
Variable operator*(double x, const Variable& y) { return Operators::scalar_like("mul", y, x) * y; }
Variable operator/(double x, const Variable& y) { return Operators::scalar_like("div", y, x) / y; }
Variable& operator+=(Variable& x, const Variable& y) { return Operators::update("add", x, y); }
Variable& operator-=(Variable& x, const Variable& y) { return Operators::update("sub", x, y); }
Variable& operator*=(Variable& x, const Variable& y) { return Operators::update("mul", x, y); }
Variable& operator/=(Variable& x, const Variable& y) { return Operators::update("div", x, y); }
Variable& operator+=(Variable& x, double y) {
  return Operators::update("add", x, Operators::scalar_like("add", x, y));
}
Variable& operator-=(Variable& x, double y) {
  return Operators::update("sub", x, Operators::scalar_like("sub", x, y));
}
Variable& operator*=(Variable& x, double y) {
  return Operators::update("mul", x, Operators::scalar_like("mul", x, y));
}
Variable& operator/=(Variable& x, double y) {
  return Operators::update("div", x, Operators::scalar_like("div", x, y));
}

}  // namespace mote
