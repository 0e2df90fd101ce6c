// SPDX-License-Identifier: Apache-2.0
// Functions of one element, operations on two tensors with broadcasting, softmax, casts.
#include <map>
#include <string_view>

#include "kernels.h"

namespace mote::subject::xnn {
namespace {

/// Creates and sets up an op of one tensor with `channels` elements a row.
template <typename T>
struct Unary {
  std::function<xnn_status(std::size_t channels, xnn_operator_t* op)> create;
  std::function<xnn_status(xnn_operator_t op, std::size_t rows, const T* x, T* y)> setup;
};

template <typename T, typename Create, typename Setup>
Unary<T> plain(Create create, Setup setup) {
  return {[create](std::size_t c, xnn_operator_t* op) { return create(c, c, c, 0, op); },
          [setup](xnn_operator_t op, std::size_t rows, const T* x, T* y) {
            return setup(op, rows, x, y, nullptr);
          }};
}

/// Makes an op whose create function takes one more number before the flags.
template <typename T, typename Create, typename Setup>
Unary<T> with(Create create, Setup setup, float number) {
  return {[create, number](std::size_t c, xnn_operator_t* op) {
            return create(c, c, c, number, 0, op);
          },
          plain<T>([](auto...) { return xnn_status_success; }, setup).setup};
}

/// Makes relu as a clamp from 0.
template <typename T, typename Create, typename Setup>
Unary<T> from_zero(Create create, Setup setup) {
  return {
      [create](std::size_t c, xnn_operator_t* op) { return create(c, c, c, 0.0F, kInf, 0, op); },
      plain<T>([](auto...) { return xnn_status_success; }, setup).setup};
}

Unary<float> find(const Call& call, float) {
  static const std::map<std::string_view, Unary<float>> all = {
      {"abs", plain<float>(xnn_create_abs_nc_f32, xnn_setup_abs_nc_f32)},
      {"ceil", plain<float>(xnn_create_ceiling_nc_f32, xnn_setup_ceiling_nc_f32)},
      {"floor", plain<float>(xnn_create_floor_nc_f32, xnn_setup_floor_nc_f32)},
      {"hardswish", plain<float>(xnn_create_hardswish_nc_f32, xnn_setup_hardswish_nc_f32)},
      {"neg", plain<float>(xnn_create_negate_nc_f32, xnn_setup_negate_nc_f32)},
      {"relu", from_zero<float>(xnn_create_clamp_nc_f32, xnn_setup_clamp_nc_f32)},
      {"round",
       plain<float>(xnn_create_bankers_rounding_nc_f32, xnn_setup_bankers_rounding_nc_f32)},
      {"sigmoid", plain<float>(xnn_create_sigmoid_nc_f32, xnn_setup_sigmoid_nc_f32)},
      {"sqrt", plain<float>(xnn_create_square_root_nc_f32, xnn_setup_square_root_nc_f32)},
      {"trunc", plain<float>(xnn_create_truncation_nc_f32, xnn_setup_truncation_nc_f32)}};
  if (call.op() == "elu")
    return with<float>(xnn_create_elu_nc_f32, xnn_setup_elu_nc_f32,
                       static_cast<float>(call.real("alpha", 1)));
  if (call.op() == "leaky_relu")
    return with<float>(xnn_create_leaky_relu_nc_f32, xnn_setup_leaky_relu_nc_f32,
                       static_cast<float>(call.real("alpha", 0.01)));
  return all.at(call.op());
}

Unary<Half> find(const Call& call, Half) {
  static const std::map<std::string_view, Unary<Half>> all = {
      {"relu", from_zero<Half>(xnn_create_clamp_nc_f16, xnn_setup_clamp_nc_f16)}};
  if (call.op() == "leaky_relu")
    return with<Half>(xnn_create_leaky_relu_nc_f16, xnn_setup_leaky_relu_nc_f16,
                      static_cast<float>(call.real("alpha", 0.01)));
  return all.at(call.op());
}

template <typename T>
struct Binary {
  std::function<xnn_status(xnn_operator_t* op)> create;
  std::function<xnn_status(xnn_operator_t op, std::size_t, const std::size_t*, std::size_t,
                           const std::size_t*, const T*, const T*, T*, pthreadpool_t)>
      setup;
};
template <typename T, typename Create, typename Setup>
Binary<T> unlimited(Create create, Setup setup) {
  return {[create](xnn_operator_t* op) { return create(-kInf, kInf, 0, op); }, setup};
}
template <typename T, typename Create, typename Setup>
Binary<T> unflagged(Create create, Setup setup) {
  return {[create](xnn_operator_t* op) { return create(0, op); }, setup};
}

Binary<float> find_binary(std::string_view op, float) {
  static const std::map<std::string_view, Binary<float>> all = {
      {"add", unlimited<float>(xnn_create_add_nd_f32, xnn_setup_add_nd_f32)},
      {"sub", unlimited<float>(xnn_create_subtract_nd_f32, xnn_setup_subtract_nd_f32)},
      {"mul", unlimited<float>(xnn_create_multiply_nd_f32, xnn_setup_multiply_nd_f32)},
      {"max", unflagged<float>(xnn_create_maximum_nd_f32, xnn_setup_maximum_nd_f32)},
      {"min", unflagged<float>(xnn_create_minimum_nd_f32, xnn_setup_minimum_nd_f32)},
      {"mse_none", unflagged<float>(xnn_create_squared_difference_nd_f32,
                                    xnn_setup_squared_difference_nd_f32)}};
  return all.at(op);
}
Binary<Half> find_binary(std::string_view op, Half) {
  static const std::map<std::string_view, Binary<Half>> all = {
      {"add", unlimited<Half>(xnn_create_add_nd_f16, xnn_setup_add_nd_f16)},
      {"mul", unlimited<Half>(xnn_create_multiply_nd_f16, xnn_setup_multiply_nd_f16)}};
  return all.at(op);
}

std::vector<std::size_t> sizes(const Operand& x) { return {x.shape.begin(), x.shape.end()}; }

xnn_status create_prelu(std::size_t channels, const float* slope, xnn_operator_t* op) {
  return xnn_create_prelu_nc_f32(channels, channels, channels, slope, 0, op);
}
xnn_status create_prelu(std::size_t channels, const Half* slope, xnn_operator_t* op) {
  return xnn_create_prelu_nc_f16(channels, channels, channels, slope, 0, op);
}
xnn_status setup_prelu(xnn_operator_t op, std::size_t rows, const float* x, float* y) {
  return xnn_setup_prelu_nc_f32(op, rows, x, y, nullptr);
}
xnn_status setup_prelu(xnn_operator_t op, std::size_t rows, const Half* x, Half* y) {
  return xnn_setup_prelu_nc_f16(op, rows, x, y, nullptr);
}

template <typename To, typename From, typename Setup>
Work converted(const Handle& op, const Operand& x, const Operand& y, Setup setup) {
  return [=] {
    const auto from = input<From>(x);
    Result<To> to(y);
    run(op, [&](xnn_operator_t o) {
      return setup(o, size(count(y) / y.shape[3]), from.data(), to.data(), nullptr);
    });
    to.store();
  };
}

}  // namespace

template <typename T>
Work unary(const Call& call) {
  const Operand x = call.input(0, 4), y = call.output(0, 4);
  need({kDType<T>}, {&x, &y});
  need_elements({&x});
  const Unary<T> how = find(call, T{});
  const Handle op = make([&](xnn_operator_t* o) { return how.create(size(x.shape[3]), o); });
  return [=] {
    const auto from = input<T>(x);
    Result<T> to(y);
    run(op, [&](xnn_operator_t o) {
      return how.setup(o, size(count(x) / x.shape[3]), from.data(), to.data());
    });
    to.store();
  };
}

template <typename T>
Work binary(const Call& call) {
  const Operand a = call.input(0, 4), b = call.input(1, 4), y = call.output(0, 4);
  need({kDType<T>}, {&a, &b, &y});
  need_elements({&y});
  const Binary<T> how = find_binary(call.op(), T{});
  const Handle op = make(how.create);
  return [=] {
    const auto first = input<T>(a), second = input<T>(b);
    const auto a_sizes = sizes(a), b_sizes = sizes(b);
    Result<T> to(y);
    run(op, [&](xnn_operator_t o) {
      return how.setup(o, a_sizes.size(), a_sizes.data(), b_sizes.size(), b_sizes.data(),
                       first.data(), second.data(), to.data(), nullptr);
    });
    to.store();
  };
}

template <typename T>
Work prelu(const Call& call) {
  const Operand x = call.input(0, 4), y = call.output(0, 4);
  const Operand slope = call.input(1, 4);
  need({kDType<T>}, {&x, &slope, &y});
  need_elements({&x});
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (slope.shape[axis] != 1) decline("the slope varies along more than the last axis");
  const Operand row = broadcast(slope, {1, 1, 1, x.shape[3]});
  const std::vector<T> zeros(size(x.shape[3]), T{0});
  make([&](xnn_operator_t* o) { return create_prelu(zeros.size(), zeros.data(), o); });
  return [=] {
    const auto from = input<T>(x), slopes = input<T>(row);
    const Handle op =
        make([&](xnn_operator_t* o) { return create_prelu(size(x.shape[3]), slopes.data(), o); });
    Result<T> to(y);
    run(op, [&](xnn_operator_t o) {
      return setup_prelu(o, size(count(x) / x.shape[3]), from.data(), to.data());
    });
    to.store();
  };
}

// Computes softmax of x[R, N, C] along N: rows of N are the channels.
Work softmax(const Call& call) {
  const Operand x = permuted(call.input(0, 3), {0, 2, 1});
  const Operand y = permuted(call.output(0, 3), {0, 2, 1});
  need({DType::f32}, {&x, &y});
  need_elements({&x});
  const std::size_t n = size(x.shape[2]);
  const Handle op =
      make([&](xnn_operator_t* o) { return xnn_create_softmax_nc_f32(n, n, n, 0, o); });
  return [=] {
    const auto from = input<float>(x);
    Result<float> to(y);
    run(op, [&](xnn_operator_t o) {
      return xnn_setup_softmax_nc_f32(o, size(x.shape[0] * x.shape[1]), from.data(), to.data(),
                                      nullptr);
    });
    to.store();
  };
}

Work cast(const Call& call) {
  const Operand x = call.input(0, 4), y = call.output(0, 4);
  need_elements({&x});
  const std::size_t c = size(x.shape[3]);
  if (y.dtype == DType::f16) {
    need({DType::f32}, {&x});
    return converted<Half, float>(
        make([&](xnn_operator_t* o) { return xnn_create_convert_nc_f32_f16(c, c, c, 0, o); }), x, y,
        xnn_setup_convert_nc_f32_f16);
  }
  need({DType::f16}, {&x});
  return converted<float, Half>(
      make([&](xnn_operator_t* o) { return xnn_create_convert_nc_f16_f32(c, c, c, 0, o); }), x, y,
      xnn_setup_convert_nc_f16_f32);
}

template Work unary<float>(const Call&);
template Work unary<Half>(const Call&);
template Work binary<float>(const Call&);
template Work binary<Half>(const Call&);
template Work prelu<float>(const Call&);
template Work prelu<Half>(const Call&);

}  // namespace mote::subject::xnn
