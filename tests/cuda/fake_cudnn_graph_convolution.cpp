// SPDX-License-Identifier: Apache-2.0
// The fake cuDNN's convolution as an operation of a graph: cross-correlation with pads of zeros,
// which are multiplied, strides, dilation and groups; sums in floats.
#include "fake_cudnn_run.h"

namespace fake::cudnn {
namespace {

struct Window {
  Dims dilations, strides, pads_behind, pads_before;
};

Window window_of(const BackendDesc& op) {
  const BackendDesc& c = *op.link(702);
  return {c.values<std::int64_t>(102), c.values<std::int64_t>(103), c.values<std::int64_t>(104),
          c.values<std::int64_t>(105)};
}

std::int64_t extent(const Window& window, std::size_t k, std::int64_t x, std::int64_t w) {
  const std::int64_t taps = (w - 1) * window.dilations[k] + 1;
  return (x + window.pads_before[k] + window.pads_behind[k] - taps) / window.strides[k] + 1;
}

}  // namespace

void check_convolution(const BackendDesc& op) {
  const TensorDesc w = described(*op.link(703)), x = described(*op.link(704)),
                   y = described(*op.link(705));
  const Window window = window_of(op);
  const auto axes = static_cast<std::size_t>(op.link(702)->value<std::int64_t>(106));
  for (const Dims* all :
       {&window.dilations, &window.strides, &window.pads_behind, &window.pads_before})
    require(all->size() == axes);
  require(x.dims.size() == axes + 2 && w.dims.size() == axes + 2 && y.dims.size() == axes + 2);
  require(x.dims[0] == y.dims[0] && w.dims[0] == y.dims[1] && x.dims[1] % w.dims[1] == 0);
  require(w.dims[0] % (x.dims[1] / w.dims[1]) == 0);
  for (std::size_t k = 0; k < axes; ++k)
    require(y.dims[k + 2] == extent(window, k, x.dims[k + 2], w.dims[k + 2]));
  // Cross-correlation, sums in floats; y is no addend.
  require(op.link(702)->value<int>(101, -1) == 1 && op.link(702)->value<int>(100, -1) == 0 &&
              op.value<float>(700) == 1 && op.value<float>(701, 1) == 0,
          kNotSupported);
}

void run_convolution(const BackendDesc& op, Slots& slots) {
  Slot &w = slots.of(op, 703), &x = slots.of(op, 704), &y = slots.of(op, 705);
  const Window window = window_of(op);
  const Dims& taps = w.desc().dims;
  const std::int64_t outputs = taps[0] / (x.desc().dims[1] / taps[1]);
  Dims of_a_filter = taps;
  of_a_filter[0] = 1;
  each(y.desc().dims, [&](const Dims& at) {
    Sum total(false);
    each(of_a_filter, [&](const Dims& tap) {
      Dims from = at, of_w = tap;
      of_w[0] = at[1];
      from[1] = at[1] / outputs * taps[1] + tap[1];
      bool is_inside = true;
      for (std::size_t k = 2; k < at.size(); ++k) {
        from[k] = at[k] * window.strides[k - 2] + tap[k] * window.dilations[k - 2] -
                  window.pads_before[k - 2];
        is_inside = is_inside && from[k] >= 0 && from[k] < x.desc().dims[k];
      }
      total.add((is_inside ? x.get(from) : 0) * w.get(of_w));
    });
    y.set(at, total.get());
  });
}

}  // namespace fake::cudnn
