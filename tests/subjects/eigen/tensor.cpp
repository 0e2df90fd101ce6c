// SPDX-License-Identifier: Apache-2.0
// Ops of the tensor module: convolutions, running sums, moves.
#include <fmt/format.h>

#include <unsupported/Eigen/CXX11/Tensor>

#include "array.h"
#include "kernels.h"

namespace mote::subject::eigen {
namespace {

template <typename T, int kRank>
using View = Eigen::TensorMap<Eigen::Tensor<const T, kRank, Eigen::RowMajor>>;
template <typename T, int kRank>
using Place = Eigen::TensorMap<Eigen::Tensor<T, kRank, Eigen::RowMajor>>;
template <int kRank>
using Sizes = Eigen::DSizes<Eigen::Index, kRank>;

template <int kRank>
Sizes<kRank> sizes(const Operand& x) {
  Sizes<kRank> result;
  for (std::size_t k = 0; k < kRank; ++k) result[k] = x.shape[k];
  return result;
}

using Pads = std::array<std::pair<Eigen::Index, Eigen::Index>, 4>;

/// Computes one tensor from another of the same dtype, by a function of both as tensors of that
/// rank.
template <int kRank, typename Move>
Work move_one(const Call& call, const Move& move) {
  const Operand x = call.input(0, kRank), y = call.output(0, kRank);
  need(kFloats, {&x, &y});
  need_elements({&x, &y});
  return of_real(x, [=]<typename T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      const Source<T> from(x);
      Target<T> to(y);
      Place<T, kRank> place(to.data(), sizes<kRank>(y));
      move(View<T, kRank>(from.data(), sizes<kRank>(x)), place);
      to.store();
    }
  });
}

Work padded(const Call& call) {
  Pads pads;
  for (std::size_t axis = 0; axis < 4; ++axis)
    pads[axis] = {call.integer(fmt::format("pads{}", axis), 0),
                  call.integer(fmt::format("pads{}", axis + 4), 0)};
  const double value = call.real("value", 0);
  return move_one<4>(call, [=](const auto& x, auto& y) {
    using T = std::remove_const_t<typename std::decay_t<decltype(x)>::Scalar>;
    y = x.pad(pads, static_cast<T>(value));
  });
}

Work tiled(const Call& call) {
  Sizes<4> times;
  for (std::size_t axis = 0; axis < 4; ++axis)
    times[axis] = call.integer(fmt::format("repeats{}", axis), 1);
  return move_one<4>(call, [=](const auto& x, auto& y) { y = x.broadcast(times); });
}

Work concatenated(const Call& call) {
  const Operand a = call.input(0, 3), b = call.input(1, 3), y = call.output(0, 3);
  need(kFloats, {&a, &b, &y});
  need_elements({&a, &b});
  return of_real(y, [=]<typename T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      const Source<T> first(a), second(b);
      Target<T> to(y);
      Place<T, 3>(to.data(), sizes<3>(y)) =
          View<T, 3>(first.data(), sizes<3>(a))
              .concatenate(View<T, 3>(second.data(), sizes<3>(b)), 1);
      to.store();
    }
  });
}

struct Window {
  Pads pads;  ///< those of an image [1, CG, H, W]
  Sizes<4> stride;
  std::int64_t groups;
};

/// Computes y[n, co] of one image and channel: the image's group, padded, convolved with w[co].
template <typename T>
void channel(const Window& v, View<T, 4> image, View<T, 4> kernel, const T* bias, Place<T, 4> y) {
  const Eigen::array<Eigen::Index, 3> axes = {1, 2, 3};
  Eigen::Tensor<T, 3, Eigen::RowMajor> taps = kernel.chip(0, 0);
  y = image.pad(v.pads).convolve(taps, axes).stride(v.stride);
  if (bias != nullptr) y = y + y.constant(*bias);
}

}  // namespace

Work conv2d(const Call& call) {
  const Operand x = call.input(0, 4), w = call.input(1, 4), y = call.output(0, 4);
  need(kFloats, {&x, &w, &y});
  need_elements({&x, &w, &y});
  const auto get = [&](const char* name, int axis, int otherwise) {
    return call.integer(fmt::format("{}{}", name, axis), otherwise);
  };
  if (get("dilation", 0, 1) != 1 || get("dilation", 1, 1) != 1) decline("dilation");
  Window v;
  const auto pads = [&](int before, int after) {
    return std::pair<Eigen::Index, Eigen::Index>(get("pads", before, 0), get("pads", after, 0));
  };
  v.pads = {std::pair(0, 0), std::pair(0, 0), pads(0, 2), pads(1, 3)};
  v.stride = Sizes<4>(1, 1, get("stride", 0, 1), get("stride", 1, 1));
  v.groups = call.integer("groups", 1);
  const bool has_bias = call.has_input(2);
  const Operand b = has_bias ? call.input(2, 1) : w;
  return of_real(x, [=]<typename T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      const Source<T> images(x), weights(w);
      Target<T> to(y);
      const Eigen::Index cg = w.shape[1], pixels = x.shape[2] * x.shape[3];
      const Eigen::Index taps = cg * w.shape[2] * w.shape[3], results = y.shape[2] * y.shape[3];
      for (Eigen::Index n = 0; n < y.shape[0]; ++n)
        for (Eigen::Index co = 0; co < y.shape[1]; ++co) {
          const Eigen::Index group = co / (y.shape[1] / v.groups);
          const View<T, 4> image(images.data() + (n * x.shape[1] + group * cg) * pixels, 1, cg,
                                 x.shape[2], x.shape[3]);
          const View<T, 4> kernel(weights.data() + co * taps, 1, cg, w.shape[2], w.shape[3]);
          channel<T>(v, image, kernel, has_bias ? at<const T>(b, co * b.strides[0]) : nullptr,
                     Place<T, 4>(to.data() + (n * y.shape[1] + co) * results, 1, 1, y.shape[2],
                                 y.shape[3]));
        }
      to.store();
    }
  });
}

Work cumsum(const Call& call) {
  const bool exclusive = call.integer("exclusive", 0) != 0;
  const bool reverse = call.integer("reverse", 0) != 0;
  return move_one<3>(call, [=](const auto& x, auto& y) {
    const Eigen::array<bool, 3> middle = {false, true, false};
    if (reverse)
      y = x.reverse(middle).cumsum(1, exclusive).reverse(middle);
    else
      y = x.cumsum(1, exclusive);
  });
}

Work moved(const Call& call) {
  const std::string_view op = call.op();
  if (op == "pad_constant") return padded(call);
  if (op == "tile") return tiled(call);
  if (op == "concat") return concatenated(call);
  if (op == "flip")
    return move_one<3>(call, [](const auto& x, auto& y) {
      y = x.reverse(Eigen::array<bool, 3>{false, true, false});
    });
  return move_one<3>(call, [](const auto& x, auto& y) {
    y = x.shuffle(Eigen::array<int, 3>{0, 2, 1});
  });
}

}  // namespace mote::subject::eigen
