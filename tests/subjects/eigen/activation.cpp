// SPDX-License-Identifier: Apache-2.0
// Activations as expressions of arrays.
#include <unsupported/Eigen/SpecialFunctions>

#include "array.h"
#include "kernels.h"

namespace mote::subject::eigen {
namespace {

/// A function of x with the op's parameters, in the order of its record.
template <typename T>
using Function = void (*)(Eigen::Map<const Line<T>> x, T p, T q, Eigen::Map<Line<T>> y);

template <typename T>
const std::map<std::string_view, Function<T>>& functions() {
  static const std::map<std::string_view, Function<T>> all = {
      {"elu", [](auto x, T p, T, auto y) { y = (x < T(0)).select(p * x.expm1(), x); }},
      {"gelu",
       [](auto x, T, T, auto y) { y = T(0.5) * x * (T(1) + (x * T(0.70710678118654752)).erf()); }},
      {"hardsigmoid", [](auto x, T p, T q, auto y) { y = (p * x + q).max(T(0)).min(T(1)); }},
      {"leaky_relu", [](auto x, T p, T, auto y) { y = (x < T(0)).select(p * x, x); }},
      {"selu", [](auto x, T p, T q, auto y) { y = q * (x <= T(0)).select(p * x.expm1(), x); }},
      {"silu", [](auto x, T, T, auto y) { y = x / (T(1) + (-x).exp()); }},
      {"softplus", [](auto x, T, T, auto y) { y = x.max(T(0)) + (-x.abs()).exp().log1p(); }},
      {"softsign", [](auto x, T, T, auto y) { y = x / (T(1) + x.abs()); }},
      {"threshold", [](auto x, T p, T q, auto y) { y = (x <= p).select(q, x); }}};
  return all;
}

struct Param {
  const char* name;
  double otherwise;
};
const std::map<std::string_view, std::array<Param, 2>>& params() {
  static const std::map<std::string_view, std::array<Param, 2>> all = {
      {"elu", {{{"alpha", 1}, {"", 0}}}},
      {"hardsigmoid", {{{"alpha", 0.2}, {"beta", 0.5}}}},
      {"leaky_relu", {{{"alpha", 0.01}, {"", 0}}}},
      {"selu", {{{"alpha", 1.6732631921768188}, {"gamma", 1.0507010221481323}}}},
      {"threshold", {{{"threshold", 1}, {"value", 0}}}}};
  return all;
}

}  // namespace

Work activation(const Call& call) {
  const Operand x = call.input(0, 4), y = call.output(0, 4);
  need(kFloats, {&x, &y});
  const std::string op(call.op());
  std::array<double, 2> values{};
  if (const auto found = params().find(op); found != params().end())
    for (std::size_t k = 0; k < 2; ++k)
      values[k] = call.real(found->second[k].name, found->second[k].otherwise);
  return of_real(x, [=]<typename T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      const Source<T> from(x);
      Target<T> to(y);
      functions<T>().at(op)(from.line(), static_cast<T>(values[0]), static_cast<T>(values[1]),
                            to.line());
      to.store();
    }
  });
}

}  // namespace mote::subject::eigen
