// SPDX-License-Identifier: Apache-2.0
// The fake cuDNN's pooling. In double, by the formulas of the manual.
#include <limits>

#include "fake_cudnn.h"

using namespace fake::cudnn;

namespace {

Dims pooled(const PoolingDesc& p, const TensorDesc& x) {
  Dims dims = {x.dims[0], x.dims[1]};
  for (std::size_t k = 0; k < p.taps.size(); ++k)
    dims.push_back(1 + (x.dims[k + 2] + 2 * p.pads[k] - p.taps[k]) / p.strides[k]);
  return dims;
}

/// Visits the elements of x that the window of y's index covers; returns how many.
std::int64_t window(const PoolingDesc& p, const TensorDesc& x, const Dims& out,
                    const std::function<void(const Dims&)>& visit) {
  std::int64_t count = 0;
  each(p.taps, [&](const Dims& tap) {
    Dims at = out;
    for (std::size_t k = 0; k < tap.size(); ++k) {
      at[k + 2] = out[k + 2] * p.strides[k] + tap[k] - p.pads[k];
      if (at[k + 2] < 0 || at[k + 2] >= x.dims[k + 2]) return;
    }
    ++count;
    visit(at);
  });
  return count;
}

/// What a window's sum is divided by.
std::int64_t divisor(const PoolingDesc& p, std::int64_t inside) {
  if (p.mode == 2) return inside;
  std::int64_t all = 1;
  for (const std::int64_t t : p.taps) all *= t;
  return all;
}

}  // namespace

FAKE_EXPORT int cudnnGetPoolingNdForwardOutputDim(PoolingDesc* p, TensorDesc* x, int count,
                                                  int* dims) {
  if (const int status = fake::counted()) return of_driver(status);
  if (count != static_cast<int>(x->dims.size()) || x->dims.size() != p->taps.size() + 2)
    return kBadParam;
  std::ranges::copy(pooled(*p, *x), dims);
  return 0;
}
FAKE_EXPORT int cudnnPoolingForward(Handle* handle, PoolingDesc* p, const void* alpha,
                                    TensorDesc* xd, const void* x_data, const void* beta,
                                    TensorDesc* yd, void* y_data) {
  return computing(handle, [&] {
    if (xd->type != yd->type || pooled(*p, *xd) != yd->dims) return kBadParam;
    const View x(*xd, x_data), y(*yd, y_data);
    store(y, alpha, beta, [&](const Dims& at) {
      double sum = 0, most = -std::numeric_limits<double>::infinity();
      const std::int64_t count = window(*p, *xd, at, [&](const Dims& from) {
        sum += x.get(from);
        most = greater(most, x.get(from));
      });
      return p->mode == 0 || p->mode == 3 ? most : sum / static_cast<double>(divisor(*p, count));
    });
    return 0;
  });
}
FAKE_EXPORT int cudnnPoolingBackward(Handle* handle, PoolingDesc* p, const void* alpha,
                                     TensorDesc* yd, const void*, TensorDesc* gyd,
                                     const void* gy_data, TensorDesc* xd, const void*,
                                     const void* beta, TensorDesc* gxd, void* gx_data) {
  return computing(handle, [&] {
    if (p->mode != 1 && p->mode != 2) return kNotSupported;  // the fake's limit, not the manual's
    if (!are_alike(*yd, *gyd) || !are_alike(*xd, *gxd) || pooled(*p, *xd) != yd->dims)
      return kBadParam;
    const View gy(*gyd, gy_data), gx(*gxd, gx_data);
    std::vector<double> sums;
    const auto flat = [&](const Dims& at) {
      std::int64_t k = 0;
      for (std::size_t axis = 0; axis < at.size(); ++axis) k = k * gxd->dims[axis] + at[axis];
      return static_cast<std::size_t>(k);
    };
    std::size_t elements = 1;
    for (const std::int64_t extent : gxd->dims) elements *= static_cast<std::size_t>(extent);
    sums.assign(elements, 0);
    each(gyd->dims, [&](const Dims& out) {
      const std::int64_t count = window(*p, *gxd, out, [](const Dims&) {});
      const double part = gy.get(out) / static_cast<double>(divisor(*p, count));
      window(*p, *gxd, out, [&](const Dims& at) { sums[flat(at)] += part; });
    });
    store(gx, alpha, beta, [&](const Dims& at) { return sums[flat(at)]; });
    return 0;
  });
}
