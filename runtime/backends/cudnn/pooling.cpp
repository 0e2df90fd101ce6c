// SPDX-License-Identifier: Apache-2.0
// Pooling over 2 or 3 axes, and the gradient of averages. cuDNN's windows have no dilation and pads
// of one width on both sides; if a trailing pad does not count, another width serves as well as
// long as the number of windows is the same.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ops.h"

namespace mote::cudnn {
namespace {

struct PoolWindow {
  int mode = kMax;
  std::vector<int> taps, stride, pads;
  std::vector<int> behind;  ///< trailing pads
  bool rounds_up = false;
};

std::size_t axes_of(const Reader& call) {
  return call.op().find("3d") == std::string::npos ? 2 : 3;
}

void add_axis(const Reader& call, std::size_t axis, PoolWindow& w) {
  const auto integer = [&](const char* name, std::size_t k, std::int64_t least) {
    return static_cast<int>(call.integer(fmt::format("{}{}", name, k), least, least));
  };
  const int behind = integer("pads", axis + axes_of(call), 0);
  w.taps.push_back(integer("kernel", axis, 1));
  w.stride.push_back(integer("stride", axis, 1));
  w.pads.push_back(integer("pads", axis, 0));
  w.behind.push_back(behind);
  if (integer("dilation", axis, 1) != 1 && w.taps.back() > 1) decline("the taps are dilated");
  if (w.mode == kAverageWithPads && behind != w.pads.back())
    decline("pads count, and are not the same in front and behind");
  if (w.pads.back() >= w.taps.back()) decline("a window lies in the pads");
}

PoolWindow pool_window_of(const Reader& call) {
  PoolWindow w;
  if (call.op().starts_with("avg"))
    w.mode = call.integer("count_include_pad", 0) != 0 ? kAverageWithPads : kAverage;
  w.rounds_up = call.integer("ceil_mode", 0) != 0;
  for (std::size_t axis = 0; axis < axes_of(call); ++axis) add_axis(call, axis, w);
  return w;
}

std::shared_ptr<PoolingDesc> describe_window(const PoolWindow& w) {
  auto desc = made(calls().create_pooling, calls().destroy_pooling);
  calls().set_pooling(desc.get(), w.mode, kPropagateNan, static_cast<int>(w.taps.size()),
                      w.taps.data(), w.pads.data(), w.stride.data());
  return desc;
}

/// Returns the number of windows along an axis of x: rounded down, or with ceil_mode up, where no
/// window may begin after x.
std::int64_t windows_of(const PoolWindow& w, std::size_t axis, std::int64_t extent) {
  const std::int64_t taps = w.taps[axis], stride = w.stride[axis], behind = w.behind[axis];
  const std::int64_t room =
      extent + w.pads[axis] - 1 +
      (w.rounds_up ? std::min<std::int64_t>(0, stride + behind - taps) : behind + 1 - taps);
  return room < 0 ? 0 : room / stride + 1;
}

/// Rejects extents of y other than the op's, and declines windows for which cuDNN would compute
/// another extent.
void require_windows(const PoolWindow& w, PoolingDesc* pooling, const Tensor& x, TensorDesc* of_x,
                     const Tensor& y) {
  std::vector<std::int64_t> expected = {x.dims[0], x.dims[1]};
  for (std::size_t k = 0; k < w.taps.size(); ++k)
    expected.push_back(windows_of(w, k, x.dims[k + 2]));
  nvidia::require_dims(y, expected);
  std::vector<int> dims(y.rank());
  calls().pooling_dims(pooling, of_x, static_cast<int>(y.rank()), dims.data());
  if (!std::ranges::equal(dims, y.dims))
    decline(fmt::format("{}: cuDNN's extents are {}", y.text(), fmt::join(dims, ",")));
}

int rank_of(const Reader& call) { return static_cast<int>(axes_of(call)) + 2; }

}  // namespace

Work pooling(const Reader& call) {
  const Tensor x = call.input(0, "x", rank_of(call)), y = call.output(0, "y", rank_of(call));
  const PoolWindow window = pool_window_of(call);
  const auto desc = describe_window(window);
  const auto from = describe(x), to = describe(y);
  require_windows(window, desc.get(), x, from.get(), y);
  return work_of([=](Handle* handle, const OnDevice& at) {
    calls().pool(handle, desc.get(), one(y.dtype), from.get(), at.data[x.slot], zero(y.dtype),
                 to.get(), at.data[y.slot]);
  });
}

// An average's gradient does not depend on x and y: a call need not have their values, and gx and
// gy are passed for them.
Work pooling_gradient(const Reader& call) {
  const Tensor gy = call.input(0, "gy", rank_of(call)), x = call.input(1, "x", rank_of(call)),
               gx = call.output(0, "gx", rank_of(call));
  nvidia::require_dims(gx, x.dims);
  const PoolWindow window = pool_window_of(call);
  const auto desc = describe_window(window);
  const auto from = describe(gy), to = describe(gx);
  require_windows(window, desc.get(), gx, to.get(), gy);
  return work_of([=](Handle* handle, const OnDevice& at) {
    calls().pool_gradient(handle, desc.get(), one(gx.dtype), from.get(), at.data[gy.slot],
                          from.get(), at.data[gy.slot], to.get(), at.data[gx.slot], zero(gx.dtype),
                          to.get(), at.data[gx.slot]);
  });
}

}  // namespace mote::cudnn
