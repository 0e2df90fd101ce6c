// SPDX-License-Identifier: Apache-2.0
// Operations on two tensors, which are broadcast by copies; comparisons; casts between reals.
#include "array.h"
#include "kernels.h"

namespace mote::subject::eigen {
namespace {

template <typename T>
using In = Eigen::Map<const Line<T>>;

template <typename T>
using Function = void (*)(In<T> a, In<T> b, Eigen::Map<Line<T>> y);
template <typename T>
const std::map<std::string_view, Function<T>>& functions() {
  static const std::map<std::string_view, Function<T>> all = {
      {"add", [](auto a, auto b, auto y) { y = a + b; }},
      {"sub", [](auto a, auto b, auto y) { y = a - b; }},
      {"mul", [](auto a, auto b, auto y) { y = a * b; }},
      {"div", [](auto a, auto b, auto y) { y = a / b; }},
      {"max", [](auto a, auto b, auto y) { y = a.max(b); }},
      {"min", [](auto a, auto b, auto y) { y = a.min(b); }},
      {"pow", [](auto a, auto b, auto y) { y = a.pow(b); }}};
  return all;
}

template <typename T>
using Test = void (*)(In<T> a, In<T> b, Eigen::Map<Line<bool>> y);
template <typename T>
const std::map<std::string_view, Test<T>>& tests() {
  static const std::map<std::string_view, Test<T>> all = {
      {"equal", [](auto a, auto b, auto y) { y = a == b; }},
      {"greater", [](auto a, auto b, auto y) { y = a > b; }},
      {"greater_or_equal", [](auto a, auto b, auto y) { y = a >= b; }},
      {"less", [](auto a, auto b, auto y) { y = a < b; }},
      {"less_or_equal", [](auto a, auto b, auto y) { y = a <= b; }},
      {"not_equal", [](auto a, auto b, auto y) { y = a != b; }}};
  return all;
}

template <typename To>
Work cast_to(const Operand& x, const Operand& y) {
  return of_real(x, [=]<typename From>(From) {
    const Source<From> from(x);
    Target<To> to(y);
    to.line() = from.line().template cast<To>();
    to.store();
  });
}

}  // namespace

Work binary(const Call& call) {
  const Operand y = call.output(0, 4);
  const Operand a = broadcast(call.input(0, 4), y.shape), b = broadcast(call.input(1, 4), y.shape);
  need(kReals, {&a, &b, &y});
  const std::string op(call.op());
  return of_real(y, [=]<typename T>(T) {
    const Source<T> first(a), second(b);
    Target<T> to(y);
    functions<T>().at(op)(first.line(), second.line(), to.line());
    to.store();
  });
}

Work comparison(const Call& call) {
  const Operand y = call.output(0, 4);
  const Operand a = broadcast(call.input(0, 4), y.shape), b = broadcast(call.input(1, 4), y.shape);
  need(kFloats, {&a, &b});
  const std::string op(call.op());
  return of_real(a, [=]<typename T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      const Source<T> first(a), second(b);
      Target<bool> to(y);
      tests<T>().at(op)(first.line(), second.line(), to.line());
      to.store();
    }
  });
}

Work cast(const Call& call) {
  const Operand x = call.input(0, 4), y = call.output(0, 4);
  need(kReals, {&x});
  switch (y.dtype) {
    case DType::f32:
      return cast_to<float>(x, y);
    case DType::f64:
      return cast_to<double>(x, y);
    case DType::f16:
      if (x.dtype == DType::f64) decline("Eigen goes by way of float, which rounds twice");
      return cast_to<Eigen::half>(x, y);
    default:
      if (x.dtype == DType::f64) decline("Eigen goes by way of float, which rounds twice");
      return cast_to<Eigen::bfloat16>(x, y);
  }
}

}  // namespace mote::subject::eigen
