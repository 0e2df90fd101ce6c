// SPDX-License-Identifier: Apache-2.0
// The fake cuDNN's convolutions, which are the catalogue's. Operands are rounded as far as the math
// allows. The heuristics' first results are such as a caller must pass over: Winograd's, one that
// is not supported, one that is not deterministic, the right algorithm with math that rounds.
#include <array>

#include "fake_cudnn.h"

using namespace fake;
using namespace fake::cudnn;

namespace {

constexpr std::size_t kWorkspace = 512;

struct Result {
  int algorithm, status;
  float time;
  std::size_t memory;
  int determinism, math;
  std::array<int, 3> reserved;
};

/// Returns the catalogue's convolution of the same number of axes.
std::string op_of(const ConvolutionDesc& c) { return "conv" + std::to_string(c.pads.size()) + "d"; }
Params params_of(const ConvolutionDesc& c) {
  Params params =
      along({{"stride", c.strides}, {"dilation", c.dilations}, {"pads", joined(c.pads, c.pads)}});
  params["groups"] = c.groups;
  return params;
}

/// The math that the algorithms support: tensor cores for 16 bits.
bool is_supported(int math, const TensorDesc& t) {
  return is_narrow(t.type) == (math == kTensorMath);
}

/// An operand as that math may round it.
Tensor operand(const ConvolutionDesc& c, const TensorDesc& t, In data) {
  Tensor values = read(t, data);
  if (t.type == kFloat && c.math == kConvertingMath) values = rounded(values, DType::f16);
  if (t.type == kFloat && c.math != kFmaMath) values = rounded_to_tf32(values);
  return c.compute == kFloat ? converted(values, DType::f32) : values;
}

void require_fit(const ConvolutionDesc& c, const TensorDesc& x, const TensorDesc& w,
                 const TensorDesc& y) {
  require(x.type == w.type && x.type == y.type && c.compute == compute_type(x.type), kNotSupported);
  require(dims_of(op_of(c), {x.dims, w.dims}, params_of(c)) == y.dims);
}
/// Besides its tensors, a call needs the algorithm that the fake has, and workspace.
void require_run(const ConvolutionDesc& c, const TensorDesc& x, bool is_known, In workspace,
                 std::size_t bytes) {
  require(is_known && is_supported(c.math, x), kNotSupported);
  require(bytes >= kWorkspace && is_workspace(workspace, bytes));
}

/// The results are the given ones, then the algorithm with each kind of math that it has.
int offered(const Handle* h, int requested, int* returned, Result* to, std::vector<Result> all,
            int algorithm, const ConvolutionDesc& c, const TensorDesc& x, const TensorDesc& w,
            const TensorDesc& y) {
  if (const int status = asking(h)) return status;
  return caught([&] {
    require_fit(c, x, w, y);
    for (const int math : {kConvertingMath, kDefaultMath, kTensorMath, c.math})
      if (math == kConvertingMath || is_supported(math, x))
        all.push_back({algorithm, 0, 0.5F, kWorkspace, kDeterministic, math, {}});
    *returned = std::min(requested, static_cast<int>(all.size()));
    std::copy_n(all.begin(), *returned, to);
  });
}

int size(std::size_t* bytes, const ConvolutionDesc& c, const TensorDesc& t) {
  *bytes = kWorkspace;
  if (const int status = counted_in_context()) return of_driver(status);
  return is_supported(c.math, t) ? 0 : kNotSupported;
}

}  // namespace

FAKE_EXPORT int cudnnGetConvolutionNdForwardOutputDim(ConvolutionDesc* c, TensorDesc* x,
                                                      TensorDesc* w, int count, int* dims) {
  if (const int status = counted()) return of_driver(status);
  return caught([&] {
    require(count == static_cast<int>(x->dims.size()));
    std::ranges::copy(dims_of(op_of(*c), {x->dims, w->dims}, params_of(*c)), dims);
  });
}

FAKE_EXPORT int cudnnGetConvolutionForwardAlgorithm_v7(Handle* h, TensorDesc* x, TensorDesc* w,
                                                       ConvolutionDesc* c, TensorDesc* y,
                                                       int requested, int* returned, Result* to) {
  constexpr std::size_t kFarTooMuch = std::size_t{1} << 40;
  return offered(h, requested, returned, to,
                 {{kWinograd, 0, 0.1F, 0, kDeterministic, c->math, {}},
                  {kPrecomputedGemm, kNotSupported, 0.2F, 0, kDeterministic, c->math, {}},
                  {kGemm, 0, 0.2F, kFarTooMuch, kDeterministic, c->math, {}}},
                 kImplicitGemm, *c, *x, *w, *y);
}
FAKE_EXPORT int cudnnGetConvolutionBackwardDataAlgorithm_v7(Handle* h, TensorDesc* w,
                                                            TensorDesc* gy, ConvolutionDesc* c,
                                                            TensorDesc* gx, int requested,
                                                            int* returned, Result* to) {
  return offered(h, requested, returned, to,
                 {{kHastyDataGradient, 0, 0.1F, 0, kNotDeterministic, c->math, {}}}, kDataGradient,
                 *c, *gx, *w, *gy);
}
FAKE_EXPORT int cudnnGetConvolutionBackwardFilterAlgorithm_v7(Handle* h, TensorDesc* x,
                                                              TensorDesc* gy, ConvolutionDesc* c,
                                                              TensorDesc* gw, int requested,
                                                              int* returned, Result* to) {
  return offered(h, requested, returned, to,
                 {{kHastyFilterGradient, 0, 0.1F, 0, kNotDeterministic, c->math, {}}},
                 kFilterGradient, *c, *x, *gw, *gy);
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

FAKE_EXPORT int cudnnConvolutionForward(Handle* h, In alpha, TensorDesc* xd, In x, TensorDesc* wd,
                                        In w, ConvolutionDesc* c, int algorithm, Out workspace,
                                        std::size_t bytes, In beta, TensorDesc* yd, Out y) {
  return computing(h, [&] {
    require_fit(*c, *xd, *wd, *yd);
    require_run(*c, *xd, algorithm == kImplicitGemm, workspace, bytes);
    const Tensor of_x = operand(*c, *xd, x), of_w = operand(*c, *wd, w);
    write(*yd, y, convolved(op_of(*c), of_x, of_w, params_of(*c)), alpha, beta);
  });
}
FAKE_EXPORT int cudnnConvolutionBackwardData(Handle* h, In alpha, TensorDesc* wd, In w,
                                             TensorDesc* gyd, In gy, ConvolutionDesc* c,
                                             int algorithm, Out workspace, std::size_t bytes,
                                             In beta, TensorDesc* gxd, Out gx) {
  return computing(h, [&] {
    require_fit(*c, *gxd, *wd, *gyd);
    require_run(*c, *gxd, algorithm == kDataGradient, workspace, bytes);
    const Tensor of_gy = operand(*c, *gyd, gy), of_w = operand(*c, *wd, w);
    const Tensor like_x = converted(filled(gxd->dims, 0), of_w.dtype());
    write(*gxd, gx, result(op_of(*c) + ".grad", {of_gy, like_x, of_w}, params_of(*c)), alpha, beta);
  });
}
FAKE_EXPORT int cudnnConvolutionBackwardFilter(Handle* h, In alpha, TensorDesc* xd, In x,
                                               TensorDesc* gyd, In gy, ConvolutionDesc* c,
                                               int algorithm, Out workspace, std::size_t bytes,
                                               In beta, TensorDesc* gwd, Out gw) {
  return computing(h, [&] {
    require_fit(*c, *xd, *gwd, *gyd);
    require_run(*c, *xd, algorithm == kFilterGradient, workspace, bytes);
    const Tensor of_gy = operand(*c, *gyd, gy), of_x = operand(*c, *xd, x);
    const Tensor like_w = converted(filled(gwd->dims, 0), of_x.dtype());
    const auto all = results(op_of(*c) + ".grad", {of_gy, of_x, like_w}, params_of(*c));
    write(*gwd, gw, all[1], alpha, beta);
  });
}
FAKE_EXPORT int cudnnConvolutionBackwardBias(Handle* h, In alpha, TensorDesc* gyd, In gy, In beta,
                                             TensorDesc* gbd, Out gb) {
  return computing(h, [&] {
    require(gbd->dims == along_channels(gyd->dims) && gbd->type == gyd->type);
    write(*gbd, gb, reduced("sum", read(*gyd, gy), gbd->dims), alpha, beta);
  });
}
