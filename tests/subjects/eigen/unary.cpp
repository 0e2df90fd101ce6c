// SPDX-License-Identifier: Apache-2.0
// Functions of one element that Eigen has, and its tests of elements.
#include <unsupported/Eigen/SpecialFunctions>

#include "array.h"
#include "kernels.h"

namespace mote::subject::eigen {
namespace {

template <typename T>
using Function = void (*)(Eigen::Map<const Line<T>> x, Eigen::Map<Line<T>> y);

template <typename T>
const std::map<std::string_view, Function<T>>& functions() {
  static const std::map<std::string_view, Function<T>> all = {
      {"abs", [](auto x, auto y) { y = x.abs(); }},
      {"acos", [](auto x, auto y) { y = x.acos(); }},
      {"asin", [](auto x, auto y) { y = x.asin(); }},
      {"atan", [](auto x, auto y) { y = x.atan(); }},
      {"ceil", [](auto x, auto y) { y = x.ceil(); }},
      {"cos", [](auto x, auto y) { y = x.cos(); }},
      {"cosh", [](auto x, auto y) { y = x.cosh(); }},
      {"erf", [](auto x, auto y) { y = x.erf(); }},
      {"exp", [](auto x, auto y) { y = x.exp(); }},
      {"expm1", [](auto x, auto y) { y = x.expm1(); }},
      {"floor", [](auto x, auto y) { y = x.floor(); }},
      {"log", [](auto x, auto y) { y = x.log(); }},
      {"log1p", [](auto x, auto y) { y = x.log1p(); }},
      {"neg", [](auto x, auto y) { y = -x; }},
      {"recip", [](auto x, auto y) { y = x.inverse(); }},
      {"relu", [](auto x, auto y) { y = x.max(T(0)); }},
      {"round", [](auto x, auto y) { y = x.rint(); }},
      {"rsqrt", [](auto x, auto y) { y = x.rsqrt(); }},
      {"sigmoid", [](auto x, auto y) { y = x.logistic(); }},
      {"sign", [](auto x, auto y) { y = x.sign(); }},
      {"sin", [](auto x, auto y) { y = x.sin(); }},
      {"sinh", [](auto x, auto y) { y = x.sinh(); }},
      {"sqrt", [](auto x, auto y) { y = x.sqrt(); }},
      {"tan", [](auto x, auto y) { y = x.tan(); }},
      {"tanh", [](auto x, auto y) { y = x.tanh(); }}};
  return all;
}

}  // namespace

Work unary(const Call& call) {
  const Operand x = call.input(0, 4), y = call.output(0, 4);
  need(kReals, {&x, &y});
  const std::string op(call.op());
  return of_real(x, [=]<typename T>(T) {
    const Source<T> from(x);
    Target<T> to(y);
    functions<T>().at(op)(from.line(), to.line());
    to.store();
  });
}

}  // namespace mote::subject::eigen
