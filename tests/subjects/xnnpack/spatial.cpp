// SPDX-License-Identifier: Apache-2.0
// Pooling over NHWC, means of whole images, constant pads.
#include <algorithm>
#include <array>

#include "kernels.h"

namespace mote::subject::xnn {
namespace {

struct Window {
  std::array<std::uint32_t, 2> kernel, stride, dilation, before, after;
};

bool has_taps(std::int64_t first, std::int64_t taps, std::int64_t step, std::int64_t extent) {
  for (std::int64_t k = 0; k < taps; ++k)
    if (first + k * step >= 0 && first + k * step < extent) return true;
  return false;
}

/// x and y are NHWC. The pad at the end is as wide as the last window needs.
Window window_of(const Call& call, const Operand& x, const Operand& y) {
  Window v{};
  for (const std::size_t axis : {0U, 1U}) {
    const auto get = [&](const char* name, std::size_t at, std::int64_t otherwise) {
      return call.integer(fmt::format("{}{}", name, at), otherwise);
    };
    const std::int64_t taps = get("kernel", axis, 1), stride = get("stride", axis, 1);
    const std::int64_t step = get("dilation", axis, 1), before = get("pads", axis, 0);
    const std::int64_t in = x.shape[axis + 1], out = y.shape[axis + 1];
    const std::int64_t reach = (out - 1) * stride + (taps - 1) * step + 1;
    for (std::int64_t o = 0; o < out; ++o)
      if (!has_taps(o * stride - before, taps, step, in)) decline("a window has no taps");
    v.kernel[axis] = u32(taps);
    v.stride[axis] = u32(stride);
    v.dilation[axis] = u32(step);
    v.before[axis] = u32(before);
    v.after[axis] = u32(std::max<std::int64_t>(0, reach - in - before));
  }
  return v;
}

template <typename T, typename Create, typename Setup>
Work pooled(const Operand& x, const Operand& y, const Create& create, Setup setup) {
  need_elements({&x, &y});
  const Handle op = make(create);
  return [=] {
    const auto from = input<T>(x);
    Result<T> to(y);
    run(op, [&](xnn_operator_t o) {
      return setup(o, size(x.shape[0]), size(x.shape[1]), size(x.shape[2]), from.data(), to.data(),
                   nullptr);
    });
    to.store();
  };
}

template <typename T, typename Create, typename Setup, typename Limit>
Work max_pooled(const Call& call, const Operand& x, const Operand& y, Create create, Setup setup,
                Limit least, Limit greatest) {
  const Window v = window_of(call, x, y);
  const bool pads = v.before[0] + v.before[1] + v.after[0] + v.after[1] != 0;
  if (pads && (v.dilation[0] != 1 || v.dilation[1] != 1))
    decline("dilated windows over pads, where XNNPACK reads other elements");
  const std::size_t c = size(x.shape[3]);
  return pooled<T>(
      x, y,
      [&](xnn_operator_t* o) {
        return create(v.before[0], v.after[1], v.after[0], v.before[1], v.kernel[0], v.kernel[1],
                      v.stride[0], v.stride[1], v.dilation[0], v.dilation[1], c, c, c, least,
                      greatest, 0, o);
      },
      setup);
}

xnn_status create_mean(std::size_t c, float, xnn_operator_t* op) {
  return xnn_create_global_average_pooling_nwc_f32(c, c, c, -kInf, kInf, 0, op);
}
xnn_status create_mean(std::size_t c, Half, xnn_operator_t* op) {
  return xnn_create_global_average_pooling_nwc_f16(c, c, c, -kInf, kInf, 0, op);
}
xnn_status setup_mean(xnn_operator_t op, std::size_t n, std::size_t pixels, const float* x,
                      float* y) {
  return xnn_setup_global_average_pooling_nwc_f32(op, n, pixels, x, y, nullptr);
}
xnn_status setup_mean(xnn_operator_t op, std::size_t n, std::size_t pixels, const Half* x,
                      Half* y) {
  return xnn_setup_global_average_pooling_nwc_f16(op, n, pixels, x, y, nullptr);
}

template <typename T, typename Create, typename Setup>
Work padded(const Call& call, T value, Create create, Setup setup) {
  const Operand x = call.input(0, 4), y = call.output(0, 4);
  need_elements({&x, &y});
  std::array<std::size_t, 4> shape{}, before{}, after{};
  for (std::size_t axis = 0; axis < 4; ++axis) {
    shape[axis] = size(x.shape[axis]);
    before[axis] = size(call.integer(fmt::format("pads{}", axis), 0));
    after[axis] = size(call.integer(fmt::format("pads{}", axis + 4), 0));
  }
  const Handle op = make([&](xnn_operator_t* o) { return create(&value, 0, o); });
  return [=] {
    const auto from = input<T>(x);
    Result<T> to(y);
    run(op, [&](xnn_operator_t o) {
      return setup(o, 4, shape.data(), before.data(), after.data(), from.data(), to.data(),
                   nullptr);
    });
    to.store();
  };
}

}  // namespace

template <typename T>
Work global_average(const Call& call) {
  const Operand x = permuted(call.input(0, 4), {0, 2, 3, 1}), y = call.output(0, 4);
  need({kDType<T>}, {&x, &y});
  need_elements({&x});
  const Handle op = make([&](xnn_operator_t* o) { return create_mean(size(x.shape[3]), T{}, o); });
  return [=] {
    const auto from = input<T>(x);
    Result<T> to(y);
    run(op, [&](xnn_operator_t o) {
      return setup_mean(o, size(x.shape[0]), size(x.shape[1] * x.shape[2]), from.data(), to.data());
    });
    to.store();
  };
}

Work average_pool(const Call& call) {
  const Operand x = permuted(call.input(0, 4), {0, 2, 3, 1});
  const Operand y = permuted(call.output(0, 4), {0, 2, 3, 1});
  need({DType::f32}, {&x, &y});
  need_elements({&x, &y});
  const Window v = window_of(call, x, y);
  if (v.dilation[0] != 1 || v.dilation[1] != 1) decline("dilation");
  if (call.integer("count_include_pad", 0) != 0)
    for (const std::size_t axis : {0U, 1U})
      if (v.before[axis] != 0 || v.after[axis] != 0) decline("pads that count");
  const std::size_t c = size(x.shape[3]);
  return pooled<float>(
      x, y,
      [&](xnn_operator_t* o) {
        return xnn_create_average_pooling2d_nhwc_f32(
            v.before[0], v.after[1], v.after[0], v.before[1], v.kernel[0], v.kernel[1], v.stride[0],
            v.stride[1], c, c, c, -kInf, kInf, 0, o);
      },
      xnn_setup_average_pooling2d_nhwc_f32);
}

template <typename T>
Work max_pool(const Call& call) {
  const Operand x = permuted(call.input(0, 4), {0, 2, 3, 1});
  const Operand y = permuted(call.output(0, 4), {0, 2, 3, 1});
  need_elements({&x, &y});
  if constexpr (std::is_same_v<T, Half>) {
    need({DType::f16}, {&x, &y});
    return max_pooled<Half>(call, x, y, xnn_create_max_pooling2d_nhwc_f16,
                            xnn_setup_max_pooling2d_nhwc_f16, -kInf, kInf);
  } else {
    need({DType::f32, DType::i8, DType::u8}, {&x, &y});
    if (x.dtype == DType::i8)
      return max_pooled<std::int8_t>(call, x, y, xnn_create_max_pooling2d_nhwc_s8,
                                     xnn_setup_max_pooling2d_nhwc_s8, std::int8_t{-128},
                                     std::int8_t{127});
    if (x.dtype == DType::u8)
      return max_pooled<std::uint8_t>(call, x, y, xnn_create_max_pooling2d_nhwc_u8,
                                      xnn_setup_max_pooling2d_nhwc_u8, std::uint8_t{0},
                                      std::uint8_t{255});
    return max_pooled<float>(call, x, y, xnn_create_max_pooling2d_nhwc_f32,
                             xnn_setup_max_pooling2d_nhwc_f32, -kInf, kInf);
  }
}

Work pad(const Call& call) {
  const Operand x = call.input(0, 4), y = call.output(0, 4);
  const double value = call.real("value", 0);
  need({DType::f32, DType::i32, DType::i8, DType::u8}, {&x, &y});
  if (x.dtype != DType::f32 && value != 0) decline("integers are padded with 0 only");
  if (x.dtype == DType::f32)
    return padded<float>(call, static_cast<float>(value), xnn_create_constant_pad_nd_x32,
                         xnn_setup_constant_pad_nd_x32);
  if (x.dtype == DType::i32)
    return padded<std::int32_t>(call, 0, xnn_create_constant_pad_nd_x32,
                                xnn_setup_constant_pad_nd_x32);
  return padded<std::uint8_t>(call, 0, xnn_create_constant_pad_nd_x8, xnn_setup_constant_pad_nd_x8);
}

template Work global_average<float>(const Call&);
template Work global_average<Half>(const Call&);
template Work max_pool<float>(const Call&);
template Work max_pool<Half>(const Call&);

}  // namespace mote::subject::xnn
