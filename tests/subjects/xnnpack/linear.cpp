// SPDX-License-Identifier: Apache-2.0
// Matrix products as fully connected layers, whose weights are b; convolutions with images and
// results in NHWC and weights [groups CO, KH, KW, CG].
#include <algorithm>
#include <array>

#include "kernels.h"

namespace mote::subject::xnn {
namespace {

// f16 operators take void pointers; these overloads give both types one name.
xnn_status create_layer(std::size_t k, std::size_t n, const float* b, xnn_operator_t* op) {
  return xnn_create_fully_connected_nc_f32(k, n, k, n, b, nullptr, -kInf, kInf,
                                           XNN_FLAG_TRANSPOSE_WEIGHTS, op);
}
xnn_status create_layer(std::size_t k, std::size_t n, const Half* b, xnn_operator_t* op) {
  return xnn_create_fully_connected_nc_f16(k, n, k, n, b, nullptr, -kInf, kInf,
                                           XNN_FLAG_TRANSPOSE_WEIGHTS, op);
}
xnn_status setup_layer(xnn_operator_t op, std::size_t m, const float* a, float* y) {
  return xnn_setup_fully_connected_nc_f32(op, m, a, y, nullptr);
}
xnn_status setup_layer(xnn_operator_t op, std::size_t m, const Half* a, Half* y) {
  return xnn_setup_fully_connected_nc_f16(op, m, a, y, nullptr);
}

/// Returns the matrix at batch (p, q) of a stack.
Operand matrix(Operand stack, std::int64_t p, std::int64_t q, std::size_t bytes) {
  if (stack.data != nullptr)
    stack.data = static_cast<char*>(stack.data) +
                 (p * stack.strides[0] + q * stack.strides[1]) * static_cast<std::int64_t>(bytes);
  stack.shape = {stack.shape[2], stack.shape[3]};
  stack.strides = {stack.strides[2], stack.strides[3]};
  return stack;
}

template <typename T>
Work product(const Operand& a, const Operand& b, const Operand& y) {
  need({kDType<T>}, {&a, &b, &y});
  need_elements({&a, &b});
  const std::size_t k = size(b.shape[2]), n = size(b.shape[3]);
  const std::vector<T> zeros(k * n, T{0});
  make([&](xnn_operator_t* o) { return create_layer(k, n, zeros.data(), o); });
  return [=] {
    for (std::int64_t p = 0; p < y.shape[0]; ++p)
      for (std::int64_t q = 0; q < y.shape[1]; ++q) {
        const auto rows = input<T>(matrix(a, p, q, sizeof(T)));
        const auto weights = input<T>(matrix(b, p, q, sizeof(T)));
        const Handle op =
            make([&](xnn_operator_t* o) { return create_layer(k, n, weights.data(), o); });
        Result<T> to(matrix(y, p, q, sizeof(T)));
        run(op, [&](xnn_operator_t o) {
          return setup_layer(o, size(y.shape[2]), rows.data(), to.data());
        });
        to.store();
      }
  };
}

struct Window {
  std::array<std::uint32_t, 2> stride{1, 1}, dilation{1, 1}, kernel{1, 1}, extra{0, 0};
  std::array<std::uint32_t, 4> pads{0, 0, 0, 0};  ///< top, right, bottom, left
  std::int64_t groups = 1;
};

/// The only axis of conv1d is the second one here.
Window window_of(const Call& call, const Operand& w) {
  const bool line = call.op().starts_with("conv1d");
  const auto get = [&](const char* name, int axis, int otherwise) {
    return u32(call.integer(fmt::format("{}{}", name, axis), otherwise));
  };
  Window v;
  for (const std::size_t axis : {0U, 1U}) {
    v.kernel[axis] = u32(w.shape[axis + 2]);
    if (line && axis == 0) continue;
    const int at = line ? 0 : static_cast<int>(axis);
    v.stride[axis] = get("stride", at, 1);
    v.dilation[axis] = get("dilation", at, 1);
    v.extra[axis] = get("output_pad", at, 0);
  }
  if (line)
    v.pads = {0, get("pads", 1, 0), 0, get("pads", 0, 0)};
  else
    v.pads = {get("pads", 0, 0), get("pads", 3, 0), get("pads", 2, 0), get("pads", 1, 0)};
  v.groups = call.integer("groups", 1);
  return v;
}

/// Inserts an axis of extent 1 for rows, if there is none.
Operand image(Operand x) {
  if (x.shape.size() == 3) {
    x.shape.insert(x.shape.begin() + 2, 1);
    x.strides.insert(x.strides.begin() + 2, 0);
  }
  return x;
}

/// The parameters that create both kinds of convolution: the window, and the channels of a group.
struct Channels {
  Window window;
  std::size_t group_inputs, group_outputs;

  template <typename F, typename T>
  xnn_status create(F function, const T* w, const T* bias, xnn_operator_t* op) const {
    const Window& v = window;
    const std::size_t groups = size(v.groups);
    return function(v.pads[0], v.pads[1], v.pads[2], v.pads[3], v.kernel[0], v.kernel[1],
                    v.stride[0], v.stride[1], v.dilation[0], v.dilation[1], u32(v.groups),
                    group_inputs, group_outputs, groups * group_inputs, groups * group_outputs, w,
                    bias, -kInf, kInf, 0, op);
  }
};

template <typename T>
struct Convolution {
  Channels channels;

  xnn_status create(const T* w, const T* bias, xnn_operator_t* op) const {
    const auto with = [&](auto function) { return channels.create(function, w, bias, op); };
    if constexpr (std::is_same_v<T, float>)
      return with(xnn_create_convolution2d_nhwc_f32);
    else
      return with(xnn_create_convolution2d_nhwc_f16);
  }
  static xnn_status setup(xnn_operator_t op, const Operand& x, const Window&, const T* from,
                          T* to) {
    const auto with = [&](auto function) {
      return function(op, size(x.shape[0]), size(x.shape[1]), size(x.shape[2]), from, to, nullptr);
    };
    if constexpr (std::is_same_v<T, float>)
      return with(xnn_setup_convolution2d_nhwc_f32);
    else
      return with(xnn_setup_convolution2d_nhwc_f16);
  }
};

template <typename T>
struct Deconvolution {
  Channels channels;

  xnn_status create(const T* w, const T* bias, xnn_operator_t* op) const {
    const auto with = [&](auto function) { return channels.create(function, w, bias, op); };
    if constexpr (std::is_same_v<T, float>)
      return with(xnn_create_deconvolution2d_nhwc_f32);
    else
      return with(xnn_create_deconvolution2d_nhwc_f16);
  }
  static xnn_status setup(xnn_operator_t op, const Operand& x, const Window& v, const T* from,
                          T* to) {
    const auto with = [&](auto function) {
      return function(op, size(x.shape[0]), size(x.shape[1]), size(x.shape[2]), v.extra[0],
                      v.extra[1], from, to, nullptr);
    };
    if constexpr (std::is_same_v<T, float>)
      return with(xnn_setup_deconvolution2d_nhwc_f32);
    else
      return with(xnn_setup_deconvolution2d_nhwc_f16);
  }
};

/// Runs a layer with x and y as NHWC, and w in XNNPACK's layout.
template <typename T, typename How>
Work layer(const How& how, const Operand& x, const Operand& w, const std::optional<Operand>& bias,
           const Operand& y) {
  const std::vector<T> zeros(size(std::max(count(w), count(y))), T{0});
  make([&](xnn_operator_t* o) {
    return how.create(zeros.data(), bias ? zeros.data() : nullptr, o);
  });
  return [=] {
    const auto from = input<T>(x), weights = input<T>(w);
    const auto added = bias ? input<T>(*bias) : std::vector<T>();
    const Handle op = make([&](xnn_operator_t* o) {
      return how.create(weights.data(), bias ? added.data() : nullptr, o);
    });
    Result<T> to(y);
    run(op, [&](xnn_operator_t o) {
      return How::setup(o, x, how.channels.window, from.data(), to.data());
    });
    to.store();
  };
}

std::optional<Operand> bias_of(const Call& call) {
  if (!call.has_input(2)) return {};
  return call.input(2, 1);
}

}  // namespace

template <typename T>
Work matmul(const Call& call) {
  const Operand y = call.output(0, 4);
  Operand a = call.input(0, 4), b = call.input(1, 4);
  a = broadcast(a, {y.shape[0], y.shape[1], a.shape[2], a.shape[3]});
  b = broadcast(b, {y.shape[0], y.shape[1], b.shape[2], b.shape[3]});
  return product<T>(a, b, y);
}

template <typename T>
Work gemm(const Call& call) {
  if (call.real("alpha", 1) != 1) decline("alpha is not 1");
  if (call.has_input(2) && call.real("beta", 1) != 0) decline("a bias of two axes");
  return product<T>(call.input(0, 4), call.input(1, 4), call.output(0, 4));
}

template <typename T>
Work convolution(const Call& call) {
  const int rank = call.op().starts_with("conv1d") ? 3 : 4;
  const Operand x = permuted(image(call.input(0, rank)), {0, 2, 3, 1});
  const Operand w = image(call.input(1, rank));
  const Operand y = permuted(image(call.output(0, rank)), {0, 2, 3, 1});
  const std::optional<Operand> bias = bias_of(call);
  need({kDType<T>}, {&x, &w, &y});
  need_elements({&x, &w, &y});
  const Window v = window_of(call, w);
  const Convolution<T> how{{v, size(w.shape[1]), size(w.shape[0] / v.groups)}};
  return layer<T>(how, x, permuted(w, {0, 2, 3, 1}), bias, y);
}

// w is [CI, CO / groups, KH, KW]; XNNPACK's is [groups, CO / groups, KH, KW, CI / groups].
template <typename T>
Work deconvolution(const Call& call) {
  const Operand x = permuted(call.input(0, 4), {0, 2, 3, 1});
  Operand w = call.input(1, 4);
  const Operand y = permuted(call.output(0, 4), {0, 2, 3, 1});
  const std::optional<Operand> bias = bias_of(call);
  need({kDType<T>}, {&x, &w, &y});
  need_elements({&x, &w, &y});
  const Window v = window_of(call, w);
  for (const std::size_t axis : {0U, 1U}) {
    if (v.extra[axis] >= v.stride[axis]) decline("output_pad is not below the stride");
    if (y.shape[axis + 1] < v.stride[axis])
      decline("a result smaller than the stride, for which XNNPACK writes beyond a buffer");
  }
  const std::int64_t group_inputs = w.shape[0] / v.groups;
  const Deconvolution<T> how{{v, size(group_inputs), size(w.shape[1])}};
  w.shape[0] = group_inputs;
  w.shape.insert(w.shape.begin(), v.groups);
  w.strides.insert(w.strides.begin(), group_inputs * w.strides[0]);
  return layer<T>(how, x, permuted(w, {0, 2, 3, 4, 1}), bias, y);
}

template Work matmul<float>(const Call&);
template Work matmul<Half>(const Call&);
template Work gemm<float>(const Call&);
template Work gemm<Half>(const Call&);
template Work convolution<float>(const Call&);
template Work convolution<Half>(const Call&);
template Work deconvolution<float>(const Call&);
template Work deconvolution<Half>(const Call&);

}  // namespace mote::subject::xnn
