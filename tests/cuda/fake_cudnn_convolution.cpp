// SPDX-License-Identifier: Apache-2.0
// The fake cuDNN's convolutions: cross-correlation with pads of zeros, which are multiplied,
// strides, dilation and groups; gradients as sums over the windows that lie in y. Operands are
// rounded as far as the math allows. The heuristics' first results are such as a caller must pass
// over: Winograd's, one that is not supported, one that is not deterministic, the right algorithm
// with math that rounds.
#include <array>

#include "fake_cudnn.h"

using namespace fake::cudnn;

namespace {

constexpr std::size_t kWorkspace = 512;
constexpr int kForward = 0, kData = 1, kFilter = 1;  // the algorithms that the fake has
constexpr int kDefaultMath = 0, kTensorMath = 1, kConvertingMath = 2, kFmaMath = 3;

struct Result {
  int algorithm, status;
  float time;
  std::size_t memory;
  int determinism, math;
  std::array<int, 3> reserved;
};

/// 1 + (x + 2 pad - (((filter - 1) dilation) + 1)) / stride
Dims output_dims(const ConvolutionDesc& c, const TensorDesc& x, const TensorDesc& w) {
  Dims dims = {x.dims[0], w.dims[0]};
  for (std::size_t k = 0; k < c.pads.size(); ++k)
    dims.push_back(1 +
                   (x.dims[k + 2] + 2 * c.pads[k] - ((w.dims[k + 2] - 1) * c.dilations[k] + 1)) /
                       c.strides[k]);
  return dims;
}

int check(const ConvolutionDesc& c, const TensorDesc& x, const TensorDesc& w, const TensorDesc& y) {
  if (x.type != w.type || x.type != y.type || !computes(c.compute, x)) return kNotSupported;
  if (x.dims.size() != c.pads.size() + 2 || w.dims.size() != x.dims.size()) return kBadParam;
  if (x.dims[1] != w.dims[1] * c.groups || w.dims[0] % c.groups != 0) return kBadParam;
  return output_dims(c, x, w) == y.dims ? 0 : kBadParam;
}

/// What the algorithms support: tensor cores for 16 bits.
bool is_supported(int math, const TensorDesc& t) {
  return element_of(t.type) == fake::Element::f32 || element_of(t.type) == fake::Element::f64
             ? math != kTensorMath
             : math == kTensorMath;
}

/// An operand as that math may round it.
double operand(const ConvolutionDesc& c, const TensorDesc& t, double value) {
  if (element_of(t.type) != fake::Element::f32 || c.math == kFmaMath) return value;
  return c.math == kConvertingMath ? mote::from_f16(mote::to_f16(value)) : fake::to_tf32(value);
}

fake::Sum sum_of(const ConvolutionDesc& c) { return fake::Sum(c.compute == 1); }

/// What a call is given beside its tensors, and the algorithm that it is for.
struct Given {
  const void* workspace;
  std::size_t bytes;
  int algorithm, known;
};

/// The status that a convolution is refused with, or 0.
int refused(const ConvolutionDesc& c, const TensorDesc& x, const TensorDesc& w, const TensorDesc& y,
            const Given& given) {
  if (const int status = check(c, x, w, y)) return status;
  if (given.algorithm != given.known) return kNotSupported;
  if (given.bytes < kWorkspace || !fake::is_workspace(given.workspace, given.bytes))
    return kBadParam;
  return is_supported(c.math, x) ? 0 : kNotSupported;
}

/// Where tap `tap` of the window `out` lies in x.
Dims place(const ConvolutionDesc& c, const Dims& out, const Dims& tap) {
  Dims at(out.size());
  for (std::size_t k = 0; k < at.size(); ++k)
    at[k] = out[k] * c.strides[k] + tap[k] * c.dilations[k] - c.pads[k];
  return at;
}

bool is_inside(const Dims& at, const Dims& extents) {
  for (std::size_t k = 0; k < at.size(); ++k)
    if (at[k] < 0 || at[k] >= extents[k]) return false;
  return true;
}

Dims with(std::int64_t first, std::int64_t second, const Dims& rest) {
  Dims all = {first, second};
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

/// Behind what is given the algorithm with each kind of math that it has.
int results(int requested, int* returned, Result* to, std::vector<Result> all, int algorithm,
            const ConvolutionDesc& c, const TensorDesc& t) {
  for (const int math : {kConvertingMath, kDefaultMath, kTensorMath, c.math})
    if (math == kConvertingMath || is_supported(math, t))
      all.push_back({algorithm, 0, 0.5F, kWorkspace, 1, math, {}});
  *returned = std::min(requested, static_cast<int>(all.size()));
  std::copy_n(all.begin(), *returned, to);
  return 0;
}

int size(std::size_t* bytes, const ConvolutionDesc& c, const TensorDesc& t) {
  *bytes = kWorkspace;
  if (const int status = fake::counted_in_context()) return of_driver(status);
  return is_supported(c.math, t) ? 0 : kNotSupported;
}

}  // namespace

FAKE_EXPORT int cudnnGetConvolutionNdForwardOutputDim(ConvolutionDesc* c, TensorDesc* x,
                                                      TensorDesc* w, int count, int* dims) {
  if (const int status = fake::counted()) return of_driver(status);
  if (count != static_cast<int>(x->dims.size()) || x->dims.size() != w->dims.size() ||
      x->dims.size() != c->pads.size() + 2 || x->dims[1] != w->dims[1] * c->groups)
    return kBadParam;
  std::ranges::copy(output_dims(*c, *x, *w), dims);
  return 0;
}

FAKE_EXPORT int cudnnGetConvolutionForwardAlgorithm_v7(Handle* h, TensorDesc* x, TensorDesc* w,
                                                       ConvolutionDesc* c, TensorDesc* y,
                                                       int requested, int* returned, Result* to) {
  if (const int status = asking(h)) return status;
  if (const int status = check(*c, *x, *w, *y)) return status;
  return results(requested, returned, to,
                 {{6, 0, 0.1F, 0, 1, c->math, {}},
                  {1, kNotSupported, 0.2F, 0, 1, c->math, {}},
                  {2, 0, 0.2F, std::size_t{1} << 40, 1, c->math, {}}},
                 kForward, *c, *x);
}
FAKE_EXPORT int cudnnGetConvolutionBackwardDataAlgorithm_v7(Handle* h, TensorDesc* w,
                                                            TensorDesc* gy, ConvolutionDesc* c,
                                                            TensorDesc* gx, int requested,
                                                            int* returned, Result* to) {
  if (const int status = asking(h)) return status;
  if (const int status = check(*c, *gx, *w, *gy)) return status;
  return results(requested, returned, to, {{0, 0, 0.1F, 0, 0, c->math, {}}}, kData, *c, *gx);
}
FAKE_EXPORT int cudnnGetConvolutionBackwardFilterAlgorithm_v7(Handle* h, TensorDesc* x,
                                                              TensorDesc* gy, ConvolutionDesc* c,
                                                              TensorDesc* gw, int requested,
                                                              int* returned, Result* to) {
  if (const int status = asking(h)) return status;
  if (const int status = check(*c, *x, *gw, *gy)) return status;
  return results(requested, returned, to, {{3, 0, 0.1F, 0, 0, c->math, {}}}, kFilter, *c, *x);
}
FAKE_EXPORT int cudnnGetConvolutionForwardWorkspaceSize(Handle*, TensorDesc* x, TensorDesc*,
                                                        ConvolutionDesc* c, TensorDesc*, int,
                                                        std::size_t* bytes) {
  return size(bytes, *c, *x);
}
FAKE_EXPORT int cudnnGetConvolutionBackwardDataWorkspaceSize(Handle*, TensorDesc* x, TensorDesc*,
                                                             ConvolutionDesc* c, TensorDesc*, int,
                                                             std::size_t* bytes) {
  return size(bytes, *c, *x);
}
FAKE_EXPORT int cudnnGetConvolutionBackwardFilterWorkspaceSize(Handle*, TensorDesc* x, TensorDesc*,
                                                               ConvolutionDesc* c, TensorDesc*, int,
                                                               std::size_t* bytes) {
  return size(bytes, *c, *x);
}

FAKE_EXPORT int cudnnConvolutionForward(Handle* handle, const void* alpha, TensorDesc* xd,
                                        const void* x_data, TensorDesc* wd, const void* w_data,
                                        ConvolutionDesc* c, int algorithm, void* workspace,
                                        std::size_t bytes, const void* beta, TensorDesc* yd,
                                        void* y_data) {
  return computing(handle, [&] {
    if (const int status = refused(*c, *xd, *wd, *yd, {workspace, bytes, algorithm, kForward}))
      return status;
    const View x(*xd, x_data), w(*wd, w_data), y(*yd, y_data);
    const std::int64_t channels = wd->dims[1], outputs = wd->dims[0] / c->groups;
    store(y, alpha, beta, [&](const Dims& at) {
      fake::Sum sum = sum_of(*c);
      for (std::int64_t ci = 0; ci < channels; ++ci)
        each(space(wd->dims), [&](const Dims& tap) {
          const Dims from = place(*c, space(at), tap);
          const double value = is_inside(from, space(xd->dims))
                                   ? x.get(with(at[0], at[1] / outputs * channels + ci, from))
                                   : 0;
          sum.add(operand(*c, *xd, value) * operand(*c, *wd, w.get(with(at[1], ci, tap))));
        });
      return sum.get();
    });
    return 0;
  });
}

FAKE_EXPORT int cudnnConvolutionBackwardData(Handle* handle, const void* alpha, TensorDesc* wd,
                                             const void* w_data, TensorDesc* gyd,
                                             const void* gy_data, ConvolutionDesc* c, int algorithm,
                                             void* workspace, std::size_t bytes, const void* beta,
                                             TensorDesc* gxd, void* gx_data) {
  return computing(handle, [&] {
    if (const int status = refused(*c, *gxd, *wd, *gyd, {workspace, bytes, algorithm, kData}))
      return status;
    const View w(*wd, w_data), gy(*gyd, gy_data), gx(*gxd, gx_data);
    const std::int64_t channels = wd->dims[1], outputs = wd->dims[0] / c->groups;
    store(gx, alpha, beta, [&](const Dims& at) {
      fake::Sum sum = sum_of(*c);
      const std::int64_t group = at[1] / channels;
      each(space(wd->dims), [&](const Dims& tap) {
        Dims out(tap.size());
        for (std::size_t k = 0; k < out.size(); ++k) {
          const std::int64_t first = at[k + 2] + c->pads[k] - tap[k] * c->dilations[k];
          out[k] = first % c->strides[k] == 0 ? first / c->strides[k] : -1;
        }
        if (!is_inside(out, space(gyd->dims))) return;
        for (std::int64_t co = group * outputs; co < (group + 1) * outputs; ++co)
          sum.add(operand(*c, *gyd, gy.get(with(at[0], co, out))) *
                  operand(*c, *wd, w.get(with(co, at[1] % channels, tap))));
      });
      return sum.get();
    });
    return 0;
  });
}

FAKE_EXPORT int cudnnConvolutionBackwardFilter(Handle* handle, const void* alpha, TensorDesc* xd,
                                               const void* x_data, TensorDesc* gyd,
                                               const void* gy_data, ConvolutionDesc* c,
                                               int algorithm, void* workspace, std::size_t bytes,
                                               const void* beta, TensorDesc* gwd, void* gw_data) {
  return computing(handle, [&] {
    if (const int status = refused(*c, *xd, *gwd, *gyd, {workspace, bytes, algorithm, kFilter}))
      return status;
    const View x(*xd, x_data), gy(*gyd, gy_data), gw(*gwd, gw_data);
    const std::int64_t channels = gwd->dims[1], outputs = gwd->dims[0] / c->groups;
    store(gw, alpha, beta, [&](const Dims& at) {
      fake::Sum sum = sum_of(*c);
      for (std::int64_t n = 0; n < xd->dims[0]; ++n)
        each(space(gyd->dims), [&](const Dims& out) {
          const Dims from = place(*c, out, space(at));
          if (!is_inside(from, space(xd->dims))) return;
          sum.add(operand(*c, *gyd, gy.get(with(n, at[0], out))) *
                  operand(*c, *xd, x.get(with(n, at[0] / outputs * channels + at[1], from))));
        });
      return sum.get();
    });
    return 0;
  });
}

FAKE_EXPORT int cudnnConvolutionBackwardBias(Handle* handle, const void* alpha, TensorDesc* gyd,
                                             const void* gy_data, const void* beta, TensorDesc* gbd,
                                             void* gb_data) {
  return computing(handle, [&] {
    Dims expected(gyd->dims.size(), 1);
    expected[1] = gyd->dims[1];
    if (gbd->dims != expected || gbd->type != gyd->type) return kBadParam;
    const View gy(*gyd, gy_data), gb(*gbd, gb_data);
    store(gb, alpha, beta, [&](const Dims& at) {
      double sum = 0;
      for (std::int64_t n = 0; n < gyd->dims[0]; ++n)
        each(space(gyd->dims), [&](const Dims& out) { sum += gy.get(with(n, at[1], out)); });
      return sum;
    });
    return 0;
  });
}
